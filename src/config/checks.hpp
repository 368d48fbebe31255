// What a text may be: addresses, hosts, paths, names. Each check returns an empty string, or what is wrong; it may bring
// the value into its one form (lower case, no trailing dot). Threads: pure.
#pragma once

#include <string>

namespace weir::config {

using Check = std::string (*)(std::string& value);

std::string check_any(std::string& value);
std::string check_listen(std::string& value);         // "0.0.0.0:8080", "[::1]:8080", "unix:/path"
std::string check_admin_listen(std::string& value);   // the same, or "off"
std::string check_origin_url(std::string& value);     // "http://host", "https://host:port", "unix:/path"
std::string check_store_address(std::string& value);  // "host:port", "unix:/path"
std::string check_host(std::string& value);           // a name or an IP address, perhaps with a port
std::string check_site_host(std::string& value);      // "shop.example", "*.shop.example", "*"
std::string check_server_name(std::string& value);    // a name
std::string check_route_path(std::string& value);     // "/a", "/a/*"
std::string check_path(std::string& value);           // of a request, with a query perhaps
std::string check_method(std::string& value);
std::string check_field_name(std::string& value);  // kept as it is
std::string check_lower_field_name(std::string& value);
std::string check_edited_field_name(std::string& value);  // not one of those that frame a message
std::string check_field_value(std::string& value);
std::string check_cookie_name(std::string& value);
std::string check_query_name(std::string& value);
std::string check_accept_coding(std::string& value);
std::string check_language(std::string& value);
std::string check_vary_name(std::string& value);  // "cookie" or "authorization"
std::string check_instance(std::string& value);
std::string check_origin_name(std::string& value);
std::string check_log_file(std::string& value);  // not a word that says no file
std::string check_ca_file(std::string& value);   // the same
std::string check_prefix(std::string& value);    // of keys in the store

// Whether an address that `check_listen` let pass is reached from this machine alone.
bool is_local(std::string const& listen);

}  // namespace weir::config
