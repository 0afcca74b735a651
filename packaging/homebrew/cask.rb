cask "mcp-toolsearch-proxy" do
  version "{{version}}"
  sha256 "{{sha256}}"

  url "{{url}}"
  name "mcp-toolsearch-proxy"
  desc "One MCP server in front of many, its tools found by searching"
  homepage "{{homepage}}"

  depends_on formula: "node"

  binary "mcp-toolsearch-proxy-{{version}}/bin/mcpproxy"
  binary "mcp-toolsearch-proxy-{{version}}/bin/mcp-toolsearch-proxy"
end
