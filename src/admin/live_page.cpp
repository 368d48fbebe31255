#include "live_page.hpp"

#include <array>
#include <string>
#include <string_view>

#include <openssl/evp.h>

#include "weir/base/hash.hpp"

namespace weir::admin {

extern std::string_view const page_html;  // of page.cpp, which the build makes from page/page.html

namespace {

std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  auto const from = text.find(begin) + begin.size();
  auto const to = text.find(end, from);
  return text.substr(from, to - from);
}

// 'sha256-...', as a policy names what stands between two tags.
std::string source_of(std::string_view content) {
  auto const digest = base::sha256(content);
  std::array<unsigned char, 4 * ((digest.size() + 2) / 3) + 1> text{};
  int const size = EVP_EncodeBlock(text.data(), reinterpret_cast<unsigned char const*>(digest.data()), digest.size());
  return "'sha256-" + std::string(text.begin(), text.begin() + size) + "'";
}

std::string policy() {
  return "default-src 'none'; script-src " + source_of(between(page_html, "<script>", "</script>")) + "; style-src " +
         source_of(between(page_html, "<style>", "</style>")) +
         "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace

Answer answer_page() {
  static std::string const content_security_policy = policy();
  Answer answer{.body = std::string(page_html), .content_type = "text/html; charset=utf-8"};
  answer.fields.emplace_back("Content-Security-Policy", content_security_policy);
  answer.fields.emplace_back("Referrer-Policy", "no-referrer");
  return answer;
}

}  // namespace weir::admin
