/* The contract tests include it for cmocka.h, which does not need it here. */
