# Settings of verl for one node with 8 GPUs, one per line; run.sh and the tests read them.
# The first block is winnow, everything below is plain verl.
# shellcheck disable=SC2034

WINNOW=(
    +winnow.recipe=vigor+pods                    # 8 rollouts per prompt on average, 2 to 30 each ...
    +winnow.settings.m=4                         # ... of which at most 4 train
    +winnow.seed=0
    algorithm.adv_estimator=winnow
    trainer.v1.sampler.custom_sampler.path=pkg://winnow.host.verl.replay
    trainer.v1.sampler.custom_sampler.name=WinnowReplayBuffer
    ++actor_rollout_ref.rollout.agent.agent_loop_manager_class=winnow.host.verl.manager.WinnowAgentLoopManager
    trainer.checkpoint_callback_class=winnow.host.verl.checkpoint.WinnowCheckpoint
    actor_rollout_ref.rollout.n=4                # rows that train per prompt: m
)

VERL=(
    data.train_files="${DATA:-data/gsm8k}/train.parquet"
    data.val_files="${DATA:-data/gsm8k}/test.parquet"
    data.train_batch_size=128                    # prompts of a step
    data.max_prompt_length=512
    data.max_response_length=1024
    data.filter_overlong_prompts=True
    data.truncation=error
    actor_rollout_ref.model.path="${MODEL:-Qwen/Qwen2.5-1.5B-Instruct}"
    actor_rollout_ref.actor.optim.lr=1e-6
    actor_rollout_ref.actor.ppo_mini_batch_size=128
    actor_rollout_ref.actor.use_dynamic_bsz=True
    actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384
    actor_rollout_ref.actor.loss_agg_mode=token-mean
    actor_rollout_ref.actor.use_kl_loss=False
    actor_rollout_ref.rollout.name=vllm
    actor_rollout_ref.rollout.tensor_model_parallel_size=1
    actor_rollout_ref.rollout.gpu_memory_utilization=0.6
    trainer.n_gpus_per_node=8
    trainer.nnodes=1
    trainer.total_epochs=3
    trainer.save_freq=50
    trainer.test_freq=10
    trainer.project_name=winnow
    trainer.experiment_name=gsm8k
    "trainer.logger=[console]"
)
