import SignalboxRoutes

extension JSONObject {
    /// What a URL consists of: `url`, the form in which it is opened, and its parts. Those that it has not are absent.
    ///
    /// - Parameter items: its query, where it could be read.
    mutating func add(_ url: URLText, items: [URLQueryItem]?) {
        add("url", url.text)
        add("scheme", url.scheme)
        add("host", url.host)
        if let port = url.port { add("port", Int(port)) }
        add("path", url.path)
        add("segments", texts: url.segments)
        if let items {
            add("query", objects: items) { item, object in
                object.add("name", item.name)
                object.add("value", item.value)
            }
        }
        add("fragment", url.fragment)
        add("origin", url.origin?.description)
    }

    /// Why a URL, or its query, was refused, as the member `error`.
    mutating func add(_ error: URLTextError) {
        var object = JSONObject()
        object.add("reason", error.reason.description)
        object.add("offset", error.offset)
        object.add("detail", error.detail)
        add("error", json: object.closed)
    }

    /// A line that is no URL, as it came.
    mutating func add(_ input: InputLine) {
        add("input", content: input.content)
        if input.isCut { add("inputCut", true) }
    }
}
