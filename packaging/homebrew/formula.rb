class McpToolsearchProxy < Formula
  desc "One MCP server in front of many, its tools found by searching"
  homepage "{{homepage}}"
  url "{{url}}"
  version "{{version}}"
  sha256 "{{sha256}}"
  license "MIT"

  depends_on "node"

  def install
    libexec.install Dir["lib/mcp-toolsearch-proxy/*"]
    bin.install_symlink libexec/"dist/bin.js" => "mcpproxy"
    bin.install_symlink libexec/"dist/bin.js" => "mcp-toolsearch-proxy"
    bash_completion.install "share/bash-completion/completions/mcpproxy"
    zsh_completion.install "share/zsh/site-functions/_mcpproxy"
    fish_completion.install "share/fish/vendor_completions.d/mcpproxy.fish"
  end

  service do
    run [opt_bin/"mcpproxy", "serve"]
    keep_alive successful_exit: false
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcpproxy --version")
    assert_match "library", shell_output("#{bin}/mcpproxy --builtin search-tools renew a library loan")
  end
end
