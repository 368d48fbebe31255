// Interim responses on their way to those who wait (SRV-7).
#include "fetch_impl.hpp"

namespace weir::proxy {

// Everyone who waits gets the same, so a cookie stays behind (COA-5).
void Fetch::tell_interim(http::Response const& interim) {
  static std::vector<std::string> const one_requester{"set-cookie", "set-cookie2"};
  cache::HeadOptions const options{&one_requester, true, order_.policy->forward.expose_tags};
  auto head = cache::build_head(interim, options, base::read_clock().wall, nullptr);
  order_.ticket.publish_interim(head.append("\r\n"));
}

}  // namespace weir::proxy
