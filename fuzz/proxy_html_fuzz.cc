// Links of pages: reading ends, and a page whose links stay the same keeps its words.
#include <cstdlib>
#include <string>

#include "server/subresources/proxy_html.h"
#include "server/subresources/proxy_rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view page(reinterpret_cast<const char*>(data), size);
  homeostat::server::ProxyPlace place{"/p", "10.0.0.1:80", "h", false};
  std::string rewritten = homeostat::server::RewriteHtmlLinks(
      page, [&](std::string_view link) { return homeostat::server::RewriteLink(place, link); });
  // Each octet becomes six at the most (an escape), and each link grows by the prefix and its quotes.
  if (rewritten.size() > page.size() * 12 + 16) std::abort();
  return 0;
}
