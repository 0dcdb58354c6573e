"""Arrays that a loop borrows from its caller, and does not count references to.

Numba counts references to every array of a tuple that is passed on, up and down again, and each count is a locked
instruction. A simulation passes its model on a dozen times an impression, some two hundred arrays, and that was a third
of ROLTR's time. Whoever calls a kernel from Python holds its arrays until it returns, so there is nothing to count.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def borrowed(_context, value):
    """The same arrays, or tuples of them, without an owner; for as long as the caller holds the originals."""

    def generate(context, builder, signature, args):
        return _without_owner(context, builder, signature.args[0], args[0])

    return value(value), generate


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = ir.Constant(array.meminfo.type, None)
        array.parent = ir.Constant(array.parent.type, None)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for place, part in enumerate(kind.types):
            held = _without_owner(context, builder, part, builder.extract_value(value, place))
            value = builder.insert_value(value, held, place)
    return value
