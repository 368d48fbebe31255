// Cache-Status (RFC 9211) and Proxy-Status (RFC 9209) of an answer: read as structured fields, each parameter judged by the
// type and the words that its RFC gives it. Threads: pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/message.hpp"
#include "weir/http/structured.hpp"

namespace weir::test {

// One cache or proxy.
struct StatusMember {
  std::string name;
  http::SfParameters parameters;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  http::SfBare const* find(std::string_view key) const {
    auto const at = std::ranges::find_if(parameters, [&](auto const& one) { return one.first == key; });
    return at == parameters.end() ? nullptr : &at->second;
  }
  std::optional<std::int64_t> integer(std::string_view key) const {
    auto const* const value = find(key) == nullptr ? nullptr : std::get_if<std::int64_t>(find(key));
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
};

// The origin's side first. Nothing: it is no List of Tokens and Strings.
inline std::optional<std::vector<StatusMember>> status_members(std::string_view value) {
  auto const list = http::parse_sf_list(value);
  if (!list) return std::nullopt;
  std::vector<StatusMember> members;
  for (auto const& member : *list) {
    auto const* const token = std::get_if<http::SfToken>(&member.item.value);
    auto const* const string = std::get_if<std::string>(&member.item.value);
    if (member.is_inner_list || (token == nullptr && string == nullptr)) return std::nullopt;
    members.push_back({token != nullptr ? token->text : *string, member.item.parameters});
  }
  return members;
}

template <std::size_t Size>
bool is_token_of(http::SfBare const& value, std::array<std::string_view, Size> const& words) {
  auto const* const token = std::get_if<http::SfToken>(&value);
  return token != nullptr && std::ranges::find(words, token->text) != words.end();
}

// RFC 9211 2: what is wrong with a member of Cache-Status; empty: nothing.
inline std::string cache_status_fault(StatusMember const& member) {
  static constexpr std::array<std::string_view, 8> reasons{"bypass", "method",  "uri-miss", "vary-miss",
                                                           "miss",   "request", "stale",    "partial"};
  for (auto const& [key, value] : member.parameters) {
    auto const* const number = std::get_if<std::int64_t>(&value);
    bool good = false;
    if (key == "hit" || key == "stored" || key == "collapsed") good = std::holds_alternative<bool>(value);
    if (key == "fwd") good = is_token_of(value, reasons);
    if (key == "fwd-status") good = number != nullptr && *number >= 100 && *number <= 599;
    if (key == "ttl") good = number != nullptr;
    if (key == "key") good = std::holds_alternative<std::string>(value);
    if (key == "detail") good = std::holds_alternative<std::string>(value) || std::holds_alternative<http::SfToken>(value);
    if (!good) return "parameter " + key;
  }
  bool const forwarded = member.has("fwd");
  if (forwarded == member.has("hit")) return "one of hit and fwd";
  for (auto const* const key : {"fwd-status", "stored", "collapsed"})
    if (member.has(key) && !forwarded) return std::string(key) + " without fwd";
  return {};
}

// RFC 9209 2: the same for Proxy-Status.
inline std::string proxy_status_fault(StatusMember const& member) {
  static constexpr std::array<std::string_view, 32> errors{"dns_timeout",
                                                           "dns_error",
                                                           "destination_not_found",
                                                           "destination_unavailable",
                                                           "destination_ip_prohibited",
                                                           "destination_ip_unroutable",
                                                           "connection_refused",
                                                           "connection_terminated",
                                                           "connection_timeout",
                                                           "connection_read_timeout",
                                                           "connection_write_timeout",
                                                           "connection_limit_reached",
                                                           "tls_protocol_error",
                                                           "tls_certificate_error",
                                                           "tls_alert_received",
                                                           "http_request_error",
                                                           "http_request_denied",
                                                           "http_response_incomplete",
                                                           "http_response_header_section_size",
                                                           "http_response_header_size",
                                                           "http_response_body_size",
                                                           "http_response_trailer_section_size",
                                                           "http_response_trailer_size",
                                                           "http_response_transfer_coding",
                                                           "http_response_content_coding",
                                                           "http_response_timeout",
                                                           "http_upgrade_failed",
                                                           "http_protocol_error",
                                                           "proxy_internal_response",
                                                           "proxy_internal_error",
                                                           "proxy_configuration_error",
                                                           "proxy_loop_detected"};
  for (auto const& [key, value] : member.parameters) {
    auto const* const number = std::get_if<std::int64_t>(&value);
    bool good = false;
    if (key == "error") good = is_token_of(value, errors);
    if (key == "received-status") good = number != nullptr && *number >= 100 && *number <= 599;
    if (key == "next-hop" || key == "details") good = std::holds_alternative<std::string>(value);
    if (!good) return "parameter " + key;
  }
  return {};
}

// Our own member as text without `ttl`, which time changes: "hit; detail=shed". Where a member is wrong, what is wrong with
// it.
inline std::string own_cache_status(Response const& response) {
  auto const members = status_members(response.value("Cache-Status"));
  if (!members || members->empty()) return response.has("Cache-Status") ? "malformed" : "none";
  for (auto const& member : *members)
    if (auto const fault = cache_status_fault(member); !fault.empty()) return member.name + ": " + fault;
  if (members->back().name != "Weir") return "not ours";
  std::string text;
  for (auto const& [key, value] : members->back().parameters) {
    if (key == "ttl") continue;
    text += (text.empty() ? "" : "; ") + key;
    if (auto const* const number = std::get_if<std::int64_t>(&value)) text += '=' + std::to_string(*number);
    if (auto const* const token = std::get_if<http::SfToken>(&value)) text += '=' + token->text;
    if (auto const* const flag = std::get_if<bool>(&value); flag != nullptr && !*flag) text += "=?0";
  }
  return text;
}

inline std::optional<std::int64_t> own_ttl(Response const& response) {
  auto const members = status_members(response.value("Cache-Status"));
  return members && !members->empty() ? members->back().integer("ttl") : std::nullopt;
}

// "connection_refused"; "none" without the field; else what is wrong with it.
inline std::string proxy_error(Response const& response) {
  if (!response.has("Proxy-Status")) return "none";
  auto const members = status_members(response.value("Proxy-Status"));
  if (!members || members->size() != 1 || members->back().name != "Weir") return "malformed";
  if (auto const fault = proxy_status_fault(members->back()); !fault.empty()) return fault;
  auto const* const error = members->back().find("error");
  return error == nullptr ? "no error" : std::get<http::SfToken>(*error).text;
}

}  // namespace weir::test
