# besom_add_test(name [CHECK] [TIMEOUT seconds] COMMAND ...)
# The only way to add a test, so that every test has labels and a time limit.
#
# Labels: "long" if the name ends in _long, else "quick". `make test` runs the quick tests,
# `make test-long` all of them. CHECK adds the label "check": `make check` runs the test, too, and
# builds the program that it runs (if that is a target). A test of more than about 3 seconds in a
# release build does not belong there. CHECK_ONLY tests have no other label: they are short forms of
# quick tests.
#
# Time limits only end tests that hang; no test fails because a machine is slow. A quick test takes
# less than a minute on an idle machine of today, with sanitizers, too. Its limit is 30 minutes
# times BESOM_TIME_SCALE: 1 on such a machine, more on a slower one. A loop of known length
# (cmake/time_scale.c) measures it when the build is configured for the first time; set it by hand
# for a machine that is slow at other times only.
function(besom_measure_time_scale)
  if(DEFINED CACHE{BESOM_TIME_SCALE})
    return()
  endif()
  set(scale 10) # if the loop cannot run here: another machine, or an emulator, will run the tests
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    try_run(ran compiled ${PROJECT_BINARY_DIR}/time_scale ${PROJECT_SOURCE_DIR}/cmake/time_scale.c
            RUN_OUTPUT_VARIABLE output)
    if(compiled AND ran EQUAL 0 AND output MATCHES "^[0-9]+$")
      set(scale ${output})
    endif()
  endif()
  message(STATUS "Time limits of tests are scaled by ${scale}")
  set(BESOM_TIME_SCALE ${scale} CACHE STRING "Factor for the time limits of all tests")
endfunction()

function(besom_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CHECK;CHECK_ONLY" "TIMEOUT" "COMMAND")
  if(name MATCHES "_long$")
    set(labels long)
    set(timeout 7200)
  else()
    set(labels quick)
    set(timeout 1800)
  endif()
  if(arg_CHECK)
    list(APPEND labels check)
  elseif(arg_CHECK_ONLY)
    set(labels check)
  endif()
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  math(EXPR timeout "${timeout} * ${BESOM_TIME_SCALE}")
  set(name ${BESOM_TEST_PREFIX}${name})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  # An allocation that is too large must be NULL under a sanitizer, as it is without.
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} ENVIRONMENT
                       "ASAN_OPTIONS=allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1")
  list(GET arg_COMMAND 0 program)
  if("check" IN_LIST labels AND TARGET ${program})
    add_dependencies(check_programs ${program})
  endif()
endfunction()

# What `make check` builds: the libraries, the programs and the tests that it runs.
add_custom_target(check_programs)
besom_measure_time_scale()
