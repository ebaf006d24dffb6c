"""From an entry of a log back to what a reward judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from winnow.audit.log import Entry
from winnow.errors import ConfigError, DataError
from winnow.reward import ChecksColumns, ChecksGolds, Item, Reward
from winnow.rollout import Prompt
from winnow.task import Task


class Golds:
    """The prompts of a log, from a task or from the log itself.

    Args:
        task: has the golds and all columns of the data; None takes ``answer`` of the log, and no columns.
    """

    def __init__(self, task: Task | None) -> None:
        self._task = task
        rows: Sequence[Prompt] = [] if task is None else [*task.train, *task.test]
        self._prompts: Mapping[str, Prompt] = {prompt.id: prompt for prompt in rows}

    def check(self, reward: Reward) -> None:
        """Refuse a reward that asks for columns that are not there.

        Raises:
            ConfigError: the message names them.
        """
        if not isinstance(reward, ChecksColumns):
            return
        columns = list(dict.fromkeys(name for prompt in self._prompts.values() for name in prompt.fields))
        try:
            reward.check_columns(columns, has_answers=True)
        except ConfigError as error:
            hint = "; a log has no columns of the data: name the data with --task" if self._task is None else ""
            raise ConfigError(f"{error}{hint}") from None

    def item(self, entry: Entry, reward: Reward) -> Item:
        """Return what ``reward`` is to judge.

        Raises:
            DataError: the reward needs a gold and there is none, or the task is not that of the log.
        """
        prompt = self._prompt(entry)
        if prompt.answer is None and isinstance(reward, ChecksGolds) and reward.needs_gold:
            raise DataError(
                f"{entry.place}: reward {reward.name} judges against a gold answer, and prompt "
                f"{entry.prompt_id} has none here; name the data with --task"
            )
        return Item(prompt, entry.text, entry.place)

    def _prompt(self, entry: Entry) -> Prompt:
        if self._task is None:
            return Prompt(entry.prompt_id, entry.prompt, entry.answer)
        # A row that is held out now may have been trained on then: its number stays.
        ids = (entry.prompt_id, *(f"{split}:{entry.prompt_id.rpartition(':')[2]}" for split in ("train", "test")))
        prompt = next((self._prompts[name] for name in ids if name in self._prompts), None)
        if prompt is None:
            raise DataError(
                f"{entry.place}: task {self._task.name} has no prompt {entry.prompt_id}: it is not the task of this log"
            )
        if entry.prompt and prompt.text != entry.prompt:
            raise DataError(
                f"{entry.place}: prompt {entry.prompt_id} of task {self._task.name} reads {prompt.text[:60]!r}, and "
                f"{entry.prompt[:60]!r} in the log: it is not the task of this log, or was loaded with other settings"
            )
        return prompt
