/* A program that knows a library with vkrope inside it, and not vkrope. */
int parent_main(void);

int main(void) { return parent_main(); }
