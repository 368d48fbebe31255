# The Debian package: `make package`. What depends on what is computed by dpkg-shlibdeps from the program.
set(debian ${CMAKE_SOURCE_DIR}/docker/debian)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/debian)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${debian}/weir.8 ${debian}/changelog.Debian)
foreach(page weir.8 changelog.Debian)
  configure_file(${debian}/${page} ${CMAKE_BINARY_DIR}/debian/${page} @ONLY)
  execute_process(COMMAND gzip -9nf ${CMAKE_BINARY_DIR}/debian/${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

install(TARGETS weir RUNTIME DESTINATION usr/bin)
install(FILES config/weir.service DESTINATION lib/systemd/system)
install(FILES config/minimal.yaml DESTINATION etc/weir RENAME weir.yaml)
install(FILES ${CMAKE_BINARY_DIR}/debian/weir.8.gz DESTINATION usr/share/man/man8)
install(FILES ${CMAKE_BINARY_DIR}/debian/changelog.Debian.gz ${debian}/copyright DESTINATION usr/share/doc/weir)
install(FILES ${debian}/lintian-overrides DESTINATION usr/share/lintian/overrides RENAME weir)
install(FILES config/weir.yaml config/valkey.yaml config/rfc9111.yaml config/README.md docker/prometheus/alerts.yaml
  docker/grafana/dashboards/weir.json DESTINATION usr/share/doc/weir/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "The Weir authors <weir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "HTTP caching reverse proxy that lets no burst through to the origin")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Weir stands in front of an origin that has to stay up. Requests for the same
thing share one fetch, answers are cached as RFC 9111 says, stale ones stand in
where they may, and the origin is asked within a budget. It is configured in
YAML and watched with Prometheus.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION httpd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
