"""fernz's machine with each instruction translated once: the same effects in less time.

fernz decodes an instruction and looks for its opcode each time that it is executed. Here an
instruction becomes a function when it is first met, its operands resolved as far as they can be;
what is rare is left to fernz. Memory, frames, input, output and checkpoints stay fernz's own.
"""

from itertools import repeat
from typing import ClassVar
from weakref import WeakKeyDictionary

from fernz import ExecutionError, Memory
from fernz._instruction import decode
from fernz._machine import DEFAULT_MAX_STEPS, Machine

from game_interface.engines.fernz_operations import Operation, Translator

FAILURES = (
    ExecutionError,
    ArithmeticError,
    AssertionError,
    LookupError,
    NotImplementedError,
    ValueError,
)
"""What a story can cause: the first where fernz checks it, the last for access to memory."""


class Translation:
    """The instructions of a story that were met so far; in memory that no story can change."""

    def __init__(self, memory: Memory) -> None:
        """Begin with none."""
        self.operations: dict[int, Operation] = {}
        self._translator = Translator(memory)
        self._fixed = memory.story.header.static_memory

    def operation(self, memory: Memory, address: int) -> Operation:
        """Translate the instruction at `address`."""
        operation = self._translator.translate(decode(memory, address))
        if address >= self._fixed:
            self.operations[address] = operation
        return operation


class TranslatedMachine(Machine):
    """A machine of fernz that executes translated instructions."""

    _translations: ClassVar[WeakKeyDictionary[Memory, Translation]] = WeakKeyDictionary()

    def run(self, *, max_steps: int = DEFAULT_MAX_STEPS) -> str:
        """Run until the story waits for input or quits; give what it printed.

        Raises: ExecutionError that names the place; also after `max_steps` instructions.
        """
        if self.input_request is None and not self.halted:
            self._run(max_steps)
        return super().run(max_steps=1)  # nothing is left to do but to hand out what was printed

    def accept_input(self, line: str) -> None:
        """Give the story the line that it waits for.

        Raises: ExecutionError that names the place; ValueError for characters that it cannot take.
        """
        request = self.input_request
        try:
            super().accept_input(line)
        except FAILURES as error:
            if isinstance(error, ValueError):
                raise
            raise _placed(error, request.instruction_address if request else self.pc) from error

    def _run(self, max_steps: int) -> None:
        translation = self._translations.get(self.memory)
        if translation is None:
            translation = self._translations[self.memory] = Translation(self.memory)
        known, address = translation.operations, self.pc
        following: int | None = address
        try:
            for _ in repeat(None, max_steps):
                operation = known.get(address) or translation.operation(self.memory, address)
                following = operation(self)
                if following is None:
                    return
                address = following
        except FAILURES as error:
            raise _placed(error, address) from error
        raise ExecutionError(f"Instruction budget ({max_steps}) exhausted at {address:#x}")


def _placed(error: Exception, address: int) -> ExecutionError:
    told = str(error) if isinstance(error, ExecutionError) or "0x" in str(error) else repr(error)
    return ExecutionError(told if "0x" in told else f"{told}, in the instruction at {address:#x}")
