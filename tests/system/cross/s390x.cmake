# The toolchain for s390x (big-endian): Debian's gcc-s390x-linux-gnu, libc6-dev-s390x-cross,
# qemu-user.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(triple s390x-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/foreign.cmake)
