/// What a server hands out to those who ask for no upgrade.
enum ServerPages {
    /// Whatever the policy of a page: nobody guesses what it is, is told where it came from, or keeps it.
    private static let always = [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cache-Control", "no-store"),
    ]

    static func all(of configuration: WebSocketServerConfiguration) -> [String: ServedPage] {
        var pages = configuration.pages.mapValues(served)
        if let path = configuration.healthPath {
            let health = Array("{\"status\":\"ok\"}\n".utf8)
            pages[path] = served(WebSocketPage(contentType: "application/json", body: health))
        }
        return pages
    }

    private static func served(_ page: WebSocketPage) -> ServedPage {
        let headers = (page.policy.headers + always).compactMap { HeaderField($0, $1) }
        return ServedPage(contentType: page.contentType, body: page.body, headers: headers)
    }
}
