// Products and sums that a driver may fuse, in each way in which a product reaches a sum, and some that it may not. Compiled
// without -O, so that calls and variables stay. It is read, not run.
#version 450

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Values { float y[]; };
layout(set = 0, binding = 1) writeonly buffer Results { float x[]; };

float product_of(float a, float b) { return a * b; }
float sum_of(float a, float b) { return a + b; }
void add_to(inout float total, float term) { total = total - term; }

void main() {
    x[0] = sum_of(product_of(y[1], y[2]), y[3]); // by a result and an argument
    float total = y[4] * y[5];
    add_to(total, y[6]); // by a pointer
    x[1] = total;
    x[2] = y[9] * y[10]; // no sum takes it
    precise float kept = y[11] * y[12] + y[13];
    x[3] = kept;
}
