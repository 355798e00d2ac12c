# SPDX-License-Identifier: Apache-2.0
# Extensions: folders outside src/ and controller/ that add entries to the registries, without a
# file of the product touched.
#
#   cmake -DPD_EXTENSIONS=DIR …
#
# DIR/registry has a line for each: KIND SYMBOL FOLDER. FOLDER/*.c is built into the library of the
# kind, and SYMBOL, which it defines, stands in the registry as if it were listed there.
# docs/hacking.md leads through one of each kind.

set(PD_EXTENSIONS "" CACHE STRING
    "A folder with a file `registry` of extensions; relative to the sources")

# Kind, and the library that its registry is in.
set(PD_EXTENSION_KINDS
    TOPOLOGY=pd_topology CODEC=pd_codec INTAKE=pd_intake STORE=pd_tib QUESTION=pd_query
    LOCALISER=pd_localise APPLICATION=pd_apps
    AGENT_PART=pd_agent CONTROLLER_PART=pd_controller SWITCHES=pd_switches)

foreach(pair IN LISTS PD_EXTENSION_KINDS)
    string(REPLACE "=" ";" pair "${pair}")
    list(GET pair 0 kind)
    list(GET pair 1 library)
    set(PD_EXTENSION_LIBRARY_${kind} ${library})
    set(PD_EXTENSION_ENTRIES_${kind} "")
    list(APPEND kinds ${kind})
endforeach()

set(PD_EXTENSION_SOURCES "")
if(PD_EXTENSIONS)
    get_filename_component(extensions "${PD_EXTENSIONS}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${extensions}/registry")
    file(STRINGS "${extensions}/registry" lines REGEX "^[^#]")
    foreach(line IN LISTS lines)
        separate_arguments(words UNIX_COMMAND "${line}")
        list(LENGTH words len)
        list(GET words 0 kind)
        string(TOUPPER "${kind}" kind)
        if(NOT len EQUAL 3 OR NOT DEFINED PD_EXTENSION_LIBRARY_${kind})
            message(FATAL_ERROR
                "${extensions}/registry: \"${line}\": expects KIND SYMBOL FOLDER, "
                "kinds are ${kinds}")
        endif()
        list(GET words 1 symbol)
        list(GET words 2 folder)
        file(GLOB sources CONFIGURE_DEPENDS "${extensions}/${folder}/*.c")
        if(NOT sources)
            message(FATAL_ERROR "${extensions}/registry: \"${line}\": ${folder} has no sources")
        endif()
        list(APPEND PD_EXTENSION_ENTRIES_${kind} ${symbol})
        foreach(source IN LISTS sources)
            list(APPEND PD_EXTENSION_SOURCES "${PD_EXTENSION_LIBRARY_${kind}}=${source}")
        endforeach()
    endforeach()
    list(REMOVE_DUPLICATES PD_EXTENSION_SOURCES)
endif()

# One header for all registries; without extensions its lists are empty.
set(header
    "/* Written by cmake/extensions.cmake. */\n#ifndef PD_EXTENSIONS_H\n#define PD_EXTENSIONS_H\n")
foreach(kind IN LISTS kinds)
    string(APPEND header "#define PD_EXTENSION_${kind}(X)")
    foreach(symbol IN LISTS PD_EXTENSION_ENTRIES_${kind})
        string(APPEND header " X(${symbol})")
    endforeach()
    string(APPEND header "\n")
endforeach()
string(APPEND header "#endif\n")
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/pd_extensions.h" CONTENT "${header}" @ONLY)

# After the libraries were defined.
function(pd_add_extensions)
    foreach(pair IN LISTS PD_EXTENSION_SOURCES)
        string(REPLACE "=" ";" pair "${pair}")
        list(GET pair 0 library)
        list(GET pair 1 source)
        target_sources(${library} PRIVATE "${source}")
    endforeach()
endfunction()
