"""Instructions as functions of fernz's machine.

Opcodes, branches and calls: sections 4, 6 and 15 of the Z-Machine Standards Document 1.1.
"""

from collections.abc import Callable
from typing import Final

from fernz import ExecutionError, Memory
from fernz._instruction import Instruction, Operand, OperandType
from fernz._machine import Frame, Machine

from game_interface.engines.fernz_objects import ObjectTable
from game_interface.engines.fernz_storage import WORD, Read, Storage, Write

Test = Callable[[Frame], bool]
Operation = Callable[[Machine], int | None]
"""Executes an instruction: the next one's address, or None when the machine waits or has ended."""

_SIGN = 0x8000
_MOST_LOCALS = 15
_CALLS: Final = frozenset(
    f"call{kind}" for kind in ("", "_1n", "_1s", "_2n", "_2s", "_vn", "_vn2", "_vs", "_vs2")
)
_STEPS: Final = {"inc": 1, "inc_chk": 1, "dec": -1, "dec_chk": -1}
_VALUES: Final[dict[str, Callable[[Read, Read], Read]]] = {
    "add": lambda a, b: lambda frame: a(frame) + b(frame),
    "and": lambda a, b: lambda frame: a(frame) & b(frame),
    "mul": lambda a, b: lambda frame: a(frame) * b(frame),
    "or": lambda a, b: lambda frame: a(frame) | b(frame),
    "sub": lambda a, b: lambda frame: a(frame) - b(frame),
}
_TESTS: Final[dict[str, Callable[[Read, Read], Test]]] = {
    "jg": lambda a, b: lambda frame: a(frame) ^ _SIGN > b(frame) ^ _SIGN,
    "jl": lambda a, b: lambda frame: a(frame) ^ _SIGN < b(frame) ^ _SIGN,
    "test": lambda a, b: lambda frame: not ~a(frame) & b(frame),
}


class Translator:
    """Makes the functions for one story in one memory."""

    def __init__(self, memory: Memory) -> None:
        """Share the bytes of fernz's memory."""
        header = memory.story.header
        self._version = header.version
        self._scale, self._offset = header.packed_address_scale, header.routine_offset
        self._storage = Storage(memory)
        self._objects = objects = ObjectTable(memory)
        self._data = data = self._storage.data
        self._values = _VALUES | {
            "get_prop": lambda a, b: lambda frame: objects.value(a(frame), b(frame)),
            "get_prop_addr": lambda a, b: lambda frame: objects.address(a(frame), b(frame)),
            "loadb": lambda a, b: lambda frame: data[a(frame) + b(frame) & WORD],
            "loadw": lambda a, b: lambda frame: _word(data, a(frame) + 2 * b(frame) & WORD),
        }
        self._tests = _TESTS | {
            "jin": lambda a, b: lambda frame: objects.parent(a(frame)) == b(frame),
            "test_attr": lambda a, b: lambda frame: objects.attribute(a(frame), b(frame)),
        }

    def translate(self, instruction: Instruction) -> Operation:
        """The function that has an instruction's effects."""
        name, operands = instruction.opcode.name, instruction.operands
        reads = [self._read(operand) for operand in operands]
        operation: Operation | None = None
        if test := self._tests.get(name):
            operation = _branch(instruction, test(*reads))
        elif value := self._values.get(name):
            operation = self._store(instruction, value(*reads))
        elif name in _CALLS:
            operation = self._call(instruction, *reads)
        elif name in _STEPS:
            operation = self._count(instruction, *reads[1:])
        elif name in ("store", "pull"):
            operation = self._assign(instruction, reads[-1] if name == "store" else _pop)
        elif name in ("get_parent", "get_child", "get_sibling"):
            operation = self._link(instruction, *reads)
        elif name in ("storeb", "storew"):
            operation = self._write(instruction, *reads)
        else:
            operation = self._flow(instruction, reads)
        return operation or _left_to_fernz(instruction)

    def _read(self, operand: Operand) -> Read:
        value = operand.value
        return (
            self._storage.read(value) if operand.type == OperandType.VARIABLE else lambda _: value
        )

    def _store(self, instruction: Instruction, value: Read) -> Operation | None:
        store = instruction.store
        return None if store is None else _put(instruction, self._storage.write(store), value)

    def _named(self, instruction: Instruction) -> int | None:
        """The number that an instruction's first operand always is: of a variable, or an offset."""
        operand = instruction.operands[0]
        return None if operand.type == OperandType.VARIABLE else operand.value

    def _assign(self, instruction: Instruction, value: Read) -> Operation | None:
        number = self._named(instruction)
        return None if number is None else _put(instruction, self._storage.replace(number), value)

    def _count(self, instruction: Instruction, limit: Read | None = None) -> Operation | None:
        """Add or take away one, and compare where there is a limit."""
        number, step = self._named(instruction), _STEPS[instruction.opcode.name]
        put = None if number is None else self._storage.replace(number)
        if number is None or put is None:
            return None
        look = self._storage.look(number)
        if limit is None:
            return _put(instruction, put, lambda frame: look(frame) + step)

        def beyond(frame: Frame) -> bool:
            than = limit(frame) ^ _SIGN
            value = look(frame) + step & WORD
            put(frame, value)
            return (value ^ _SIGN) * step > than * step

        return _branch(instruction, beyond)

    def _link(self, instruction: Instruction, number: Read) -> Operation | None:
        name = instruction.opcode.name
        link = {
            "get_parent": self._objects.parent,
            "get_child": self._objects.child,
            "get_sibling": self._objects.sibling,
        }[name]
        if instruction.branch is None:
            return self._store(instruction, lambda frame: link(number(frame)))
        put = None if instruction.store is None else self._storage.write(instruction.store)
        if put is None:
            return None

        def found(frame: Frame) -> bool:
            value = link(number(frame))
            put(frame, value)
            return value != 0

        return _branch(instruction, found)

    def _write(self, instruction: Instruction, base: Read, index: Read, value: Read) -> Operation:
        after, data, writable = instruction.next_address, self._data, self._storage.writable
        size = 1 if instruction.opcode.name == "storeb" else 2

        def write(machine: Machine) -> int:
            frame = machine.frames[-1]
            address = base(frame) + size * index(frame) & WORD
            new = value(frame)
            if not writable(address, size):
                machine.memory.write_bytes(
                    address, (new & (1 << 8 * size) - 1).to_bytes(size, "big")
                )
            elif size == 1:
                data[address] = new & 0xFF
            else:
                data[address] = new >> 8
                data[address + 1] = new & 0xFF
            return after

        return write

    def _call(self, instruction: Instruction, routine: Read, *arguments: Read) -> Operation:
        after, store, data = instruction.next_address, instruction.store, self._data
        scale, offset, defaults = self._scale, self._offset, self._version <= 4

        def call(machine: Machine) -> int:
            frame = machine.frames[-1]
            packed = routine(frame)
            given = [read(frame) for read in arguments]
            if not packed:
                if store is not None:
                    machine.write_variable(store, 0)
                return after
            address = scale * packed + offset
            count = data[address]
            if count > _MOST_LOCALS:
                raise ExecutionError(f"Invalid local count {count} at {address:#x}")
            address += 1
            values = given[:count]
            missing = range(len(values), count)
            if defaults:
                values += [_word(data, address + 2 * place) for place in missing]
                address += 2 * count
            else:
                values += [0 for _ in missing]
            machine.frames.append(Frame(values, [], after, store, len(given)))
            return address

        return call

    def _flow(self, instruction: Instruction, reads: list[Read]) -> Operation | None:
        match instruction.opcode.name:
            case "jz":
                (value,) = reads
                return _branch(instruction, lambda frame: not value(frame))
            case "je":
                return _branch(instruction, _equal(*reads))
            case "jump" if (offset := self._named(instruction)) is not None:
                target = instruction.next_address + _signed(offset) - 2
                return lambda _: target
            case "ret":
                return _return(*reads)
            case "rfalse":
                return _return(lambda _: 0)
            case "rtrue":
                return _return(lambda _: 1)
            case "ret_popped" if self._version != 3:
                return _return(_pop)
            case "push":
                return _put(instruction, self._storage.write(0), *reads)
        return None


def _left_to_fernz(instruction: Instruction) -> Operation:
    def execute(machine: Machine) -> int | None:
        machine.pc = instruction.next_address
        machine._execute(instruction)  # noqa: SLF001 - what is left is left to it
        stops = machine.halted or machine.input_request is not None
        return None if stops else machine.pc

    return execute


def _put(instruction: Instruction, write: Write | None, value: Read) -> Operation | None:
    if write is None:
        return None
    after = instruction.next_address

    def put(machine: Machine) -> int:
        frame = machine.frames[-1]
        write(frame, value(frame))
        return after

    return put


def _branch(instruction: Instruction, test: Test) -> Operation | None:
    """Go to one of two places; a branch to 0 or 1 returns that."""
    branch, after = instruction.branch, instruction.next_address
    if branch is None:
        return None
    on_true, offset = branch.on_true, branch.offset
    target = after + offset - 2

    def go(machine: Machine) -> int:
        return target if test(machine.frames[-1]) is on_true else after

    def leave(machine: Machine) -> int | None:
        return _leave(machine, offset) if test(machine.frames[-1]) is on_true else after

    return leave if offset in (0, 1) else go


def _return(value: Read) -> Operation:
    return lambda machine: _leave(machine, value(machine.frames[-1]))


def _leave(machine: Machine, value: int) -> int | None:
    if len(machine.frames) == 1:
        raise ExecutionError("Cannot return from the initial execution context")
    frame = machine.frames.pop()
    if frame.store is not None:
        machine.write_variable(frame.store, value)
    return frame.return_address


def _equal(first: Read, *others: Read) -> Test:
    """Whether a value is one of some; all are read, for they may be on the stack."""
    if len(others) == 1:
        (other,) = others
        return lambda frame: first(frame) == other(frame)

    def equal(frame: Frame) -> bool:
        value = first(frame)
        return value in [other(frame) for other in others]

    return equal


def _word(data: bytearray, address: int) -> int:
    return data[address] << 8 | data[address + 1]


def _signed(value: int) -> int:
    return value - 0x10000 if value & _SIGN else value


def _pop(frame: Frame) -> int:
    return frame.stack.pop()
