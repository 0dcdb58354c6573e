"""Whether there is a CUDA device, and what it is. CuPy is imported here, when somebody asks."""

from functools import cache
from typing import Any

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

    number = cupy.cuda.Device().id
    found = cupy.cuda.runtime.getDeviceProperties(number)
    return {
        "device": found["name"].decode(),
        "capability": f"{found['major']}.{found['minor']}",
        "processors": int(found["multiProcessorCount"]),
        "memory": int(found["totalGlobalMem"]),
        "driver": int(cupy.cuda.runtime.driverGetVersion()),
        "cupy": cupy.__version__,
    }
