// Products and sums that a driver may fuse, in each way in which a product reaches a sum, and some that it may not. Compiled
// without -O, so that calls and variables stay. It is read, not run: some functions of GLSL are products and sums
// themselves, some hand a product on, and some do neither.
#version 450

layout(local_size_x = 1) in;
layout(set = 0, binding = 0) readonly buffer Values { float y[]; };
layout(set = 0, binding = 1) writeonly buffer Results { float x[]; };

float product_of(float a, float b) { return a * b; }
float sum_of(float a, float b) { return a + b; }
void add_to(inout float total, float term) { total = total - term; }

void made_of_both(vec3 a, vec3 b, mat2 m) {
    x[10] = mix(y[20], y[21], y[22]);
    x[11] = smoothstep(y[20], y[21], y[22]);
    x[12] = fma(y[20], y[21], y[22]);
    x[13] = mod(y[20], y[21]);
    x[14] = length(a);
    x[15] = distance(a, b);
    x[16] = cross(a, b).x;
    x[17] = normalize(a).x;
    x[18] = faceforward(a, b, a).x;
    x[19] = reflect(a, b).x;
    x[20] = refract(a, b, y[20]).x;
    x[21] = determinant(m);
    x[22] = inverse(m)[0].x;
}

void taken_by_sums() {
    x[30] = abs(y[30] * y[31]) + y[32];
    x[31] = min(y[30] * y[31], y[32] * y[33]) - y[34];
    x[32] = max(y[30], y[31] * y[32]) + y[33];
    x[33] = clamp(y[30] * y[31], y[32], y[33]) + y[34];
    x[34] = y[30] - ldexp(-(y[31] * y[32]), 3);
    x[35] = fract(y[30] * y[31]);
    float whole;
    x[36] = modf(y[30] * y[31], whole);
    x[37] = radians(y[30]) + degrees(y[31]);
}

void taken_by_none() {
    x[40] = sqrt(y[40] * y[41]) + y[42];
    x[41] = floor(y[40] * y[41]) + y[42];
    x[42] = abs(y[40] * y[41]);
    x[43] = radians(y[40]);
}

void main() {
    made_of_both(vec3(y[50], y[51], y[52]), vec3(y[53], y[54], y[55]), mat2(y[50], y[51], y[52], y[53]));
    taken_by_sums();
    taken_by_none();
    x[0] = sum_of(product_of(y[1], y[2]), y[3]); // by a result and an argument
    float total = y[4] * y[5];
    add_to(total, y[6]); // by a pointer
    x[1] = total;
    x[2] = y[9] * y[10]; // no sum takes it
    precise float kept = y[11] * y[12] + y[13];
    x[3] = kept;
}
