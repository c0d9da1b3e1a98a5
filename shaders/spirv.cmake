# The fingerprint of a list of shaders, which tells whether generated SPIR-V is of these sources; and as a script the folder
# that VKROPE_SPIRV takes, made of a build's numbers:
#   cmake -DNUMBERS=folder -DFOLDER=folder -P spirv.cmake list.def...

get_filename_component(VKROPE_SPIRV_ROOT ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)

# The fingerprint is that of every file that the list's shaders may include, and of how they are compiled. Line ends do
# not count. `name` is its file's: shaders.sha256, bench.sha256.
function(vkrope_fingerprint list name fingerprint)
    get_filename_component(folder ${list} DIRECTORY)
    set(root ${VKROPE_SPIRV_ROOT})
    file(GLOB_RECURSE files RELATIVE ${root} ${root}/shaders/*.h ${root}/shaders/*.glsl ${root}/shaders/*.cmake
        ${folder}/*.comp ${folder}/*.def)
    list(SORT files)
    set(text)
    foreach(file IN LISTS files)
        file(READ ${root}/${file} contents)
        string(REPLACE "\r\n" "\n" contents "${contents}")
        string(SHA256 hash "${contents}")
        string(APPEND text "${hash} ${file}\n")
    endforeach()
    string(SHA256 hash "${text}")
    set(${fingerprint} ${hash} PARENT_SCOPE)
    file(RELATIVE_PATH folder ${root} ${list})
    string(REGEX REPLACE "/.*" "" folder ${folder})
    set(${name} ${folder}.sha256 PARENT_SCOPE)
endfunction()

# The names of a list's rows.
function(vkrope_shader_names list names)
    file(STRINGS ${list} rows REGEX "^ROPE_SHADER")
    list(TRANSFORM rows REPLACE "^ROPE_SHADER\\(([a-z0-9_]+),.*" "\\1")
    set(${names} ${rows} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    file(REMOVE_RECURSE ${FOLDER})
    foreach(i RANGE 1 ${CMAKE_ARGC})
        set(list "${CMAKE_ARGV${i}}")
        if(list MATCHES "\\.def$")
            vkrope_shader_names(${list} names)
            list(TRANSFORM names PREPEND ${NUMBERS}/)
            list(TRANSFORM names APPEND .inc)
            file(COPY ${names} DESTINATION ${FOLDER})
            vkrope_fingerprint(${list} name fingerprint)
            file(WRITE ${FOLDER}/${name} ${fingerprint}\n)
        endif()
    endforeach()
endif()
