# SPDX-License-Identifier: Apache-2.0
# What every folder's CMakeLists.txt is written with: compiler flags, system libraries and the
# pd_…() helpers.
#
#   pd_library(NAME SOURCES … DEPENDS …)                  static library
#   pd_program(NAME SOURCES … DEPENDS …)                  program in <build>/bin, installed
#   pd_unit_test(NAME SOURCES … DEPENDS … [LABELS …])     cmocka test, in ctest with label `unit`
#                                                         and those of LABELS
#   pd_fuzz_target(NAME SOURCES … DEPENDS …)              libFuzzer program in <build>/bin/fuzz,
#                                                         only with PD_FUZZ
#   pd_bench(NAME SOURCES … DEPENDS …)                    program in <build>/bin/bench, never run by
#                                                         ctest
#   pd_add_folders(FOLDER …)                              those of the folders that have a
#                                                         CMakeLists.txt

include(GNUInstallDirs)
include(CheckPIESupported)
find_package(PkgConfig REQUIRED)

option(PD_WERROR "Treat warnings as errors" OFF)
option(PD_TESTS "Build the tests" ON)
option(PD_BENCH "Build the benchmarks" ON)
option(PD_FUZZ "Build the fuzz targets (clang) instead of the tests" OFF)
set(PD_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

# ---- compiler ------------------------------------------------------------------------------------

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
check_pie_supported(LANGUAGES C)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()

# No NDEBUG: an assertion that fails in the field is worth more than the branch it costs.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

add_compile_definitions(_GNU_SOURCE)
add_compile_options(
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
    -Wpointer-arith
    -Wvla -Wformat=2 -Wwrite-strings -Wimplicit-fallthrough -fno-common -fstack-protector-strong)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-format-truncation) # words are cut on purpose where they do not fit
endif()
if(PD_WERROR)
    add_compile_options(-Werror)
endif()

# CRC32C is the hash of the packet path. This is the oldest machine that has it, never the machine
# that builds.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-march=x86-64-v2)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    add_compile_options(-march=armv8-a+crc)
endif()

if(PD_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "PD_FUZZ needs clang: use the preset `fuzz`")
    endif()
    set(PD_TESTS OFF)
    set(PD_BENCH OFF)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PD_SANITIZE)
    add_compile_options("-fsanitize=${PD_SANITIZE}" -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options("-fsanitize=${PD_SANITIZE}")
elseif(CMAKE_BUILD_TYPE MATCHES "^Rel")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    add_link_options(-Wl,-z,relro,-z,now)
endif()

configure_file("${CMAKE_CURRENT_LIST_DIR}/pd_version.h.in"
    "${CMAKE_BINARY_DIR}/generated/pd_version.h" @ONLY)
include_directories("${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/generated")

# ---- system libraries: targets PkgConfig::NAME ---------------------------------------------------

find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
pkg_check_modules(GNUTLS REQUIRED IMPORTED_TARGET gnutls)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
pkg_check_modules(CURL REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET lmdb)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(MNL REQUIRED IMPORTED_TARGET libmnl)

# Optional: the folder that uses one asks for NAME_FOUND and builds its stub instead.
pkg_check_modules(BPF QUIET IMPORTED_TARGET libbpf)
pkg_check_modules(MONGOC QUIET IMPORTED_TARGET libmongoc-1.0)
pkg_check_modules(LUA QUIET IMPORTED_TARGET lua5.4)
pkg_check_modules(SECCOMP QUIET IMPORTED_TARGET libseccomp)
pkg_check_modules(NCURSES QUIET IMPORTED_TARGET ncursesw)
if(PD_TESTS)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    if(NOT CMOCKA_FOUND)
        message(STATUS "cmocka is missing: no unit tests (tools/deps test installs it)")
    endif()
endif()
if(PD_BENCH)
    pkg_check_modules(DPDK QUIET IMPORTED_TARGET libdpdk)
endif()

# ---- helpers -------------------------------------------------------------------------------------

# Parses the arguments that all helpers share into ARG_…, in the caller.
macro(pd_parse)
    cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS" ${ARGN})
    if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SOURCES)
        message(FATAL_ERROR "pd_…(NAME SOURCES … DEPENDS …): got `${ARGN}`")
    endif()
endmacro()

function(pd_library NAME)
    pd_parse(${ARGN})
    add_library(${NAME} STATIC ${ARG_SOURCES})
    target_link_libraries(${NAME} PUBLIC ${ARG_DEPENDS})
endfunction()

function(pd_program NAME)
    pd_parse(${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS})
    install(TARGETS ${NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# PD_SOURCE_DIR and PD_BIN_DIR tell a test where the checkout and the programs are.
function(pd_as_test NAME)
    target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS} PkgConfig::CMOCKA)
    target_compile_definitions(${NAME} PRIVATE
        PD_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PD_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
endfunction()

# What tests share is compiled once: each source but the first is an object library of its own.
function(pd_unit_test NAME)
    if(NOT PD_TESTS OR NOT CMOCKA_FOUND)
        return()
    endif()
    pd_parse(${ARGN})
    list(POP_FRONT ARG_SOURCES objects)
    foreach(source IN LISTS ARG_SOURCES)
        get_filename_component(path "${source}" ABSOLUTE)
        file(RELATIVE_PATH shared "${CMAKE_SOURCE_DIR}" "${path}")
        string(MAKE_C_IDENTIFIER "${shared}" shared)
        if(NOT TARGET ${shared})
            add_library(${shared} OBJECT "${path}")
            pd_as_test(${shared})
        endif()
        list(APPEND objects "$<TARGET_OBJECTS:${shared}>")
    endforeach()
    add_executable(${NAME} ${objects})
    pd_as_test(${NAME})
    set_target_properties(${NAME} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/tests")
    add_test(NAME ${NAME} COMMAND ${NAME} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
    set_tests_properties(${NAME} PROPERTIES LABELS "unit;${ARG_LABELS}" TIMEOUT 300)
endfunction()

# ctest replays the corpus; tools/test then lets the target search for some seconds.
function(pd_fuzz_target NAME)
    if(NOT PD_FUZZ)
        return()
    endif()
    pd_parse(${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS} -fsanitize=fuzzer)
    set_target_properties(${NAME} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/fuzz")
    set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${NAME}")
    add_test(NAME ${NAME} COMMAND ${CMAKE_COMMAND}
        -DTARGET=$<TARGET_FILE:${NAME}> -DCORPUS=${corpus}
        -P "${CMAKE_SOURCE_DIR}/cmake/replay.cmake")
    set_tests_properties(${NAME} PROPERTIES LABELS fuzz TIMEOUT 300)
    file(APPEND "${CMAKE_BINARY_DIR}/fuzz-targets.txt" "${NAME} ${corpus}\n")
endfunction()

function(pd_bench NAME)
    if(NOT PD_BENCH)
        return()
    endif()
    pd_parse(${ARGN})
    add_executable(${NAME} ${ARG_SOURCES})
    target_link_libraries(${NAME} PRIVATE ${ARG_DEPENDS})
    set_target_properties(${NAME} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin/bench")
endfunction()

function(pd_add_folders)
    foreach(folder IN LISTS ARGN)
        if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt")
            add_subdirectory(${folder})
        endif()
    endforeach()
endfunction()

# Every sub-folder of the caller's that has a CMakeLists.txt, so that a new folder of tests needs no
# list.
function(pd_add_all_folders)
    file(GLOB children RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
        CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
    list(SORT children)
    foreach(child IN LISTS children)
        get_filename_component(folder "${child}" DIRECTORY)
        add_subdirectory("${folder}")
    endforeach()
endfunction()

file(WRITE "${CMAKE_BINARY_DIR}/fuzz-targets.txt" "")
