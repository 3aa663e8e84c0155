# Not verified: no one has run this formula on a Mac yet. `brew install --build-from-source ./packaging/homebrew/signalbox.rb`
class Signalbox < Formula
  desc "Dispatches messages of many sources to plugins"
  homepage "https://github.com/signalbox-swift/signalbox"
  head "https://github.com/signalbox-swift/signalbox.git", branch: "main"
  license "Apache-2.0"

  depends_on "pkg-config" => :build
  depends_on xcode: ["26.0", :build]
  depends_on "curl"
  depends_on "libev"
  depends_on "libwebsockets"
  depends_on "libyaml"
  depends_on "openssl@3"

  def install
    ENV["SIGNALBOX_COMMIT"] = version.head? ? version.commit : "unknown"
    system "packaging/install", prefix
  end

  service do
    run [opt_bin/"signalbox", "run", etc/"signalbox/signalbox.yaml"]
    keep_alive crashed: true
  end

  test do
    assert_match "signalbox", shell_output("#{bin}/signalbox --version")
    (testpath/"links.yaml").write <<~YAML
      sources:
        link: { links: { schemes: [shop] } }
      plugins:
        - { action: open, use: print, from: link }
    YAML
    system bin/"signalbox", "check", testpath/"links.yaml"
  end
end
