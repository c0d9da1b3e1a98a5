"""Position encodings of transformer models, by vkrope's library. Arrays are NumPy's.

    import vkrope
    encoding = vkrope.read("config.json")                   # a model's config.json, its .gguf, or a dict
    device = vkrope.Device()                                # the best there is; "cpu" has the same bits without Vulkan
    cos, sin = device.table(encoding, range(4096))
    q_rotated = device.rotate(encoding, q, positions)       # q: [batch, seq, heads, dim]
    q, k, v = device.fused(encoding, q, k, v, cache="q8_0", hadamard=True)
    k_read = vkrope.dequantize(k)                           # what an attention reads from the cache

Bad input raises Refused, a machine that fails raises Failed; both have the library's own sentence. The calls leave
Python's lock, so threads work side by side. `python -m vkrope --help` has commands for files."""
from . import plot
from ._caches import Cache, dequantize
from ._device import Device
from ._encoding import Encoding, read
from ._fused import Fused
from ._library import Failed, Refused
from ._structures import VERSION as __version__
from ._weights import permute

__all__ = ["Cache", "Device", "Encoding", "Failed", "Fused", "Refused", "__version__", "dequantize", "permute", "plot", "read"]
