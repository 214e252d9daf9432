# besom_runnable(PROGRAM RESULT): the path of what runs PROGRAM, a path, on this machine. If that
# needs an emulator, it is the script emulated/NAME in the build directory.
function(besom_runnable program result)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    cmake_path(GET program FILENAME name)
    set(script ${PROJECT_BINARY_DIR}/emulated/${name})
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    file(WRITE ${script} "#!/bin/sh\nexec ${emulator} '${program}' \"$@\"\n")
    file(CHMOD ${script} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    set(program ${script})
  endif()
  set(${result} ${program} PARENT_SCOPE)
endfunction()
