"""Whether there is a CUDA device, what it is, and its memory. CuPy is imported here, when somebody asks."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

INSTALL = "pip install 'rankloop[gpu]'"


@cache
def why_no_device() -> str | None:
    """None where there is a CUDA device and CuPy to use it; otherwise a sentence that says what is missing."""
    try:
        import cupy
    except ImportError as error:
        return f"runs on a GPU need CuPy ({error}): {INSTALL}"
    except Exception as error:
        return f"CuPy is installed but cannot be loaded: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        return f"no CUDA device can be used: {error}"
    return None if count else "there is no CUDA device on this machine"


@cache
def about_device() -> dict[str, Any]:
    """The device as a manifest names it."""
    import cupy

    found = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    return {
        "device": found["name"].decode(),
        "capability": f"{found['major']}.{found['minor']}",
        "processors": int(found["multiProcessorCount"]),
        "memory": int(found["totalGlobalMem"]),
        "driver": int(cupy.cuda.runtime.driverGetVersion()),
        "cupy": str(cupy.__version__),
    }


@cache
def processors() -> int:
    """How many multiprocessors the device has."""
    return int(about_device()["processors"])


@cache
def most_shared() -> int:
    """How much shared memory a block may have, in bytes."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def free_memory() -> int:
    """Bytes of the device that nobody uses, those that CuPy keeps for later included."""
    import cupy

    pool = cupy.get_default_memory_pool()
    return int(cupy.cuda.Device().mem_info[0]) + int(pool.free_bytes())


class DeviceMemory:
    """Arrays on the device, kept as long as this is."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def put(self, array: NDArray[Any]) -> int:
        """The address of a copy of the array."""
        import cupy

        kept = cupy.asarray(np.ascontiguousarray(array))
        self._kept.append(kept)
        return int(kept.data.ptr)

    def room(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of zeros on the device."""
        import cupy

        self._kept.append(cupy.zeros(shape, dtype))
        return self._kept[-1]

    def address(self, array: Any) -> int:
        """Where an array lies."""
        return int(array.data.ptr)
