"""The ground floor of the compiled core: how kernels are compiled, random draws, vector arithmetic.

Nothing here knows about ranking. Everything above (policies, learners, the simulation's loop) is
written with these pieces.
"""

from rankloop.kernels.compiler import implements, inlined_kernel, kernel, otherwise, when_compiling

__all__ = ["implements", "inlined_kernel", "kernel", "otherwise", "when_compiling"]
