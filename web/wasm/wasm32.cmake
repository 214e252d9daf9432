# The toolchain for WebAssembly: Debian's clang 14, lld, wasi-libc, libclang-rt-14-dev-wasm32.
#   cmake -S . -B build/wasm -DCMAKE_TOOLCHAIN_FILE=web/wasm/wasm32.cmake
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-14)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_PREFIX_PATH /usr/local /usr) # for xxhash.h
set(CMAKE_C_FLAGS_INIT "-flto -isystem ${CMAKE_CURRENT_LIST_DIR}/include")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of the compiler")
set(BESOM_WASM ON)
