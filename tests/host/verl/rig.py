"""verl's V1 trainer in sync mode on a CPU, with the policy and task that ship with winnow.

Real: the trainer's loop, its data loader, replay buffer and agent loops, TransferQueue, the reward loop with verl's
gsm8k scorer, and the actor (verl's FSDP2 engine on gloo). Not real: the server that samples, and the transport of new
weights to it: `Server` samples from the weights it started with.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "tests.host.verl.cpu",
    "VERL_ENGINE_DEVICE": "cuda",
    "TRANSFER_QUEUE_ENABLE": "1",
    "OMP_NUM_THREADS": "1",
    "GOMP_SPINCOUNT": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "src")),
}
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
PARTS = [
    "algorithm.adv_estimator=winnow",
    "trainer.v1.sampler.custom_sampler.path=pkg://winnow.host.verl.replay",
    "trainer.v1.sampler.custom_sampler.name=WinnowReplayBuffer",
    "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=winnow.host.verl.manager.WinnowAgentLoopManager",
]


def environment() -> None:
    """Set what processes of verl inherit; before verl or Ray is imported."""
    os.environ.update(ENVIRONMENT)


def compose(*overrides: str) -> Any:
    """Return verl's config with overrides."""
    import verl
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(str(Path(verl.__file__).parent / "trainer" / "config"), version_base=None):
        return compose("ppo_trainer", ["actor_rollout_ref.rollout.name=vllm", *overrides])


def files(folder: Path, rows: int = 64) -> dict[str, Path]:
    """Write the shipped policy with a chat template, and its equations as verl's data."""
    from datasets import Dataset

    from winnow import task
    from winnow.model.load import SHIPPED

    model = folder / "policy"
    shutil.copytree(SHIPPED, model)
    (model / "chat_template.jinja").write_text(TEMPLATE)
    mix = task.load("mix", seed=0, options={"train_size": 8 * rows, "test_size": 8, "spread": 0.0})
    sums = [prompt for prompt in mix.train if "numbers" not in prompt.fields][:rows]
    table = [
        {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": prompt.content}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": prompt.answer},
            "extra_info": {"index": index, "split": "train"},
        }
        for index, prompt in enumerate(sums)
    ]
    Dataset.from_list(table).to_parquet(str(folder / "train.parquet"))
    return {"model": model, "data": folder / "train.parquet"}


def overrides(found: dict[str, Path], folder: Path, *, prompts: int = 4, workers: int = 2) -> list[str]:
    """Settings for a CPU."""
    rollout, actor = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
    return [
        *PARTS,
        f"actor_rollout_ref.model.path={found['model']}",
        "actor_rollout_ref.model.use_remove_padding=False",
        "actor_rollout_ref.model.enable_gradient_checkpointing=False",
        "+actor_rollout_ref.model.override_config.attn_implementation=eager",
        f"data.train_files={found['data']}",
        f"data.val_files={found['data']}",
        f"data.train_batch_size={prompts}",
        "data.max_prompt_length=64",
        "data.max_response_length=16",
        "data.dataloader_num_workers=0",
        "data.shuffle=False",
        f"{rollout}.agent.num_workers={workers}",
        f"{rollout}.log_prob_micro_batch_size_per_gpu=8",
        f"{actor}.ppo_mini_batch_size={prompts}",
        f"{actor}.ppo_micro_batch_size_per_gpu=8",
        f"{actor}.strategy=fsdp2",
        f"{actor}.fsdp_config.strategy=fsdp2",
        f"{actor}.fsdp_config.use_torch_compile=False",
        f"{actor}.fsdp_config.dtype=float32",
        f"{actor}.use_torch_compile=False",
        f"{actor}.optim.lr=1e-3",
        "trainer.device=cpu",
        "trainer.logger=[]",
        "trainer.n_gpus_per_node=1",
        "trainer.val_before_train=False",
        "trainer.total_epochs=9",
        "trainer.resume_mode=disable",
        f"trainer.default_local_dir={folder / 'checkpoints'}",
        "reward.num_workers=1",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    ]


class Server:
    """Samples from the shipped policy behind the interface of verl's `LLMServerClient`.

    It writes ``####`` before what the policy says, which is how verl's gsm8k scorer finds an answer.

    Args:
        model: folder of the policy.
        seed: of the samples.
    """

    def __init__(self, model: str, seed: int = 0) -> None:
        self._model, self._seed = model, seed
        self._policy: Any = None

    def _load(self) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.manual_seed(self._seed + os.getpid())
        torch.set_num_threads(1)
        self._tokenizer = AutoTokenizer.from_pretrained(self._model)
        self._policy = AutoModelForCausalLM.from_pretrained(self._model, dtype=torch.float32).eval()
        self._prefix = self._tokenizer.encode("#### ")

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: Any, **_: Any) -> Any:
        import torch
        from verl.workers.rollout.replica import TokenOutput

        if self._policy is None:
            self._load()
        ids = torch.tensor([prompt_ids])
        with torch.no_grad():
            drawn = self._policy.generate(
                ids, attention_mask=torch.ones_like(ids), do_sample=sampling_params["temperature"] > 0, max_new_tokens=8
            )[0, len(prompt_ids) :].tolist()
        end = self._tokenizer.eos_token_id
        drawn = drawn[: drawn.index(end) + 1] if end in drawn else drawn
        tokens = self._prefix + drawn
        steps = {"global_steps": 0, "min_global_steps": 0, "max_global_steps": 0}
        return TokenOutput(
            token_ids=tokens, log_probs=[-1.0] * len(tokens), stop_reason="completed", extra_fields=steps
        )


class Deadly(Server):
    """Ends the first process that samples while the file is there; the file goes with it."""

    def __init__(self, model: str, flag: Path) -> None:
        super().__init__(model)
        self._flag = flag

    async def generate(self, request_id: str, **keywords: Any) -> Any:
        try:
            self._flag.unlink()
        except FileNotFoundError:
            return await super().generate(request_id, **keywords)
        os._exit(1)


class Replicas:
    """Stands in for verl's checkpoint engine: no weights travel."""

    def update_weights(self, *_: Any) -> None:
        pass

    def sleep_replicas(self) -> None:
        pass


_SHARED: list[Any] = []


def recording() -> Any:
    """Return a coordinator that remembers everything it is told."""
    from winnow.host.verl.actor import CoordinatorActor

    class Recording(CoordinatorActor):
        def __init__(self, setup: Any) -> None:
            super().__init__(setup)
            self._record: dict[int, tuple[list[str], dict[tuple[str, int], Any]]] = {}

        async def open(self, number: int, owners: Any, texts: Any = ()) -> None:
            self._record.setdefault(number, ([], {}))[0].extend(owners)
            await super().open(number, owners, texts)

        async def next(self, number: int, uid: str, reports: Any) -> list[int]:
            self._record[number][1].update({(uid, report.session): report for report in reports})
            return await super().next(number, uid, reports)

        async def record(self) -> Any:
            return self._record

    return Recording


def run(config: Any, *, manager_class: Any = None, server: Any = None) -> tuple[Any, Any]:
    """Train as `verl.trainer.main_ppo.TaskRunnerV1` does, in this process; return trainer and manager."""
    import ray
    from omegaconf import OmegaConf

    from winnow.host.verl.manager import WinnowAgentLoopManager

    config.transfer_queue.enable = True
    OmegaConf.resolve(config)
    trainer = trainer_class()(config=config)
    trainer.init()
    manager = (manager_class or WinnowAgentLoopManager).create(
        config=config,
        llm_client=server or Server(config.actor_rollout_ref.model.path),
        teacher_client=None,
        reward_loop_worker_handles=trainer.get_reward_handles(),
    )
    trainer.fit(manager)
    for worker in manager.agent_loop_workers:
        ray.kill(worker)
    return trainer, manager


def trainer_class() -> Any:
    """Return verl's sync trainer with `_setup` cut down to what a CPU has."""
    import ray
    from verl.experimental.reward_loop import RewardLoopManager
    from verl.single_controller.ray import RayClassWithInitArgs, RayWorkerGroup
    from verl.single_controller.ray.base import RayResourcePool
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
    from verl.utils.distributed import initialize_global_process_group_ray
    from verl.workers.engine_workers import ActorRolloutRefWorker

    class CpuActor(ActorRolloutRefWorker):
        """Joins a gloo group first: verl would name the CPU twice when it asks for one."""

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            initialize_global_process_group_ray(backend="gloo")

    def shared(config: Any) -> tuple[Any, Any]:
        """Return the actor and the reward loop; made once, because that takes longest."""
        if not _SHARED:
            made = RayClassWithInitArgs(ray.remote(CpuActor), config=config.actor_rollout_ref, role="actor")
            pool = RayResourcePool([1], use_gpu=False, max_colocate_count=1)
            group = RayWorkerGroup(pool, made, device_name="cpu", use_gpu=False)
            group.init_model()
            _SHARED.extend((group, RewardLoopManager(config=config)))
        return tuple(_SHARED)

    class CpuTrainer(PPOTrainerSync):
        """Keeps every batch that reached the actor, as keys, advantages, masks."""

        def _setup(self) -> None:
            self.seen: list[dict[str, Any]] = []
            self._init_tokenizer()
            self._init_dataloader()
            self._init_dump_executor()
            self.ref_in_actor = False
            self.actor_rollout_wg, self.reward_loop_manager = shared(self.config)
            self.teacher_model_manager = self.distillation_config = None
            self.llm_server_manager = None
            self.checkpoint_manager = Replicas()
            self._load_checkpoint()

        def _get_n_gpus_for_throughput(self) -> int:
            return 1

        def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
            import transfer_queue as tq

            fields = ["advantages", "response_mask", "rm_scores"]
            data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=[*fields, "uid"])
            columns = {name: [row.tolist() for row in data[name].unbind()] for name in fields}
            queue = set(tq.kv_list("train")["train"])
            self.seen.append(
                {"keys": list(batch.keys), "uid": list(data["uid"]), "queue": queue, "metrics": dict(metrics)} | columns
            )
            return super()._update_actor(batch, metrics)

    return CpuTrainer
