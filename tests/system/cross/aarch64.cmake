# The toolchain for 64-bit ARM: Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/foreign.cmake)
