# What the toolchain files of foreign processors share; ${triple} is their name for compilers.
#   cmake -S . -B build/cross/s390x -DCMAKE_TOOLCHAIN_FILE=tests/system/cross/s390x.cmake -DBESOM_TESTS=ON
# Only the C library of the processor is there: neither databases nor cmocka.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${triple}-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${triple})
set(BESOM_EMULATED ON) # slow: fewer and smaller tests
set(CMAKE_FIND_ROOT_PATH /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
