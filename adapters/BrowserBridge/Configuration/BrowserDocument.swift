/// A document of a site that is served to browsers.
public struct BrowserDocument: Sendable, Hashable {
    /// Such as `text/html; charset=utf-8`; 1 to 128 bytes of printable ASCII. A document of type `text/html` is a page.
    public let contentType: String
    /// At most 1 MiB, for a page with what is added to it.
    public let body: [UInt8]

    /// A document as given.
    public init(contentType: String, body: [UInt8]) {
        self.contentType = contentType
        self.body = body
    }

    /// A page.
    public static func page(_ html: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/html; charset=utf-8", body: Array(html.utf8))
    }

    /// A script that pages load.
    public static func script(_ source: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/javascript; charset=utf-8", body: Array(source.utf8))
    }

    /// A style sheet that pages load.
    public static func style(_ sheet: String) -> BrowserDocument {
        BrowserDocument(contentType: "text/css; charset=utf-8", body: Array(sheet.utf8))
    }

    /// Whether it is a page, which gets the bridge.
    var isPage: Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.split(separator: " ").elementsEqual(["text/html"])
    }
}
