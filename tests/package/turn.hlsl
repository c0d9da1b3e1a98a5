#include "rope.hlsl"
[[vk::binding(0, 0)]] RWStructuredBuffer<float2> pairs;
[[vk::binding(1, 0)]] StructuredBuffer<uint4> frequencies;
[numthreads(64, 1, 1)] void main(uint3 thread : SV_DispatchThreadID) {
    uint i = thread.x;
    pairs[i] = rope_rotate(pairs[i], rope_cos_sin(int(i), frequencies[i]));
}
