// What the access log is told of a request (OBS-4).
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

void Exchange::tell_access() const noexcept {
  using http::FieldId;
  auto const field = [this](FieldId id) { return as_it_came_.first(id).value_or(std::string_view()); };
  observe::Access access;
  access.came = came_.wall;
  access.until_answer = sent_.began - came_.steady;
  access.until_end = base::Clock::now() - came_.steady;
  access.body_bytes = sent_.body_bytes;
  access.status = sent_.status;
  access.version = request_.version;
  access.outcome = sent_.outcome;
  access.cache_status = decision_.cache_status;
  access.whole = sent_.whole;
  access.client = who(as_it_came_);
  access.method = request_.method;
  access.target = request_.target;
  access.host = request_.authority;
  if (routed_.site != nullptr) access.site = routed_.site->name;
  access.referer = field(FieldId::referer);
  access.agent = field(FieldId::user_agent);
  access.request_id = as_it_came_.first("x-request-id").value_or(std::string_view());
  local_.shared.access.push(local_.worker, access);
}

}  // namespace weir::proxy
