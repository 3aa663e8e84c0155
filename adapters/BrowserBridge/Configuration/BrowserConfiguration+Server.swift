import AdapterThreads
import SignalboxCore
import WebSocketChat

extension BrowserConfiguration {
    /// The one action that a page's message is to the server, which reads no further.
    static let frame: ActionName = "frame"

    /// What the server of the pages is told.
    ///
    /// - Parameter token: what a page must show.
    func server(showing token: Secret) -> WebSocketServerConfiguration {
        var server = WebSocketServerConfiguration(source: source, port: port)
        server.address = address
        server.path = BrowserConfiguration.socketPath
        server.identity = identity
        server.origins = origins
        server.pagesHost = hostInURL
        server.absentOrigin = .refused
        server.principals = [WebSocketPrincipal("page", token: token)]
        server.frames = WebSocketFrames(text: .action(BrowserConfiguration.frame, .bytes))
        server.limits = MessageLimits(bytes: limits.bytes + PageFrame.longestLine, depth: limits.depth)
        server.answers = false
        server.announcesConnections = true
        server.connections = connections
        // A page that keeps to its own window is always read, as reading begins again when half of this one is free.
        server.connectionWindow = 2 * messagesInFlight + 2
        server.waitingBytes = waitingBytes
        server.allWaitingBytes = allWaitingBytes
        server.pages = pages
        server.healthPath = nil
        return server
    }

    /// As it stands in a URL.
    var hostInURL: String { host ?? (address.contains(":") ? "[\(address)]" : address) }

    private var pages: [String: WebSocketPage] {
        let policy = allowsInlineCode ? WebSocketPagePolicy.siteWithInlineCode : .site
        var pages = documents.mapValues { document in
            let body = document.isPage ? ScriptTag.added(to: document.body) : document.body
            return WebSocketPage(contentType: document.contentType, body: body, policy: policy)
        }
        pages[BrowserConfiguration.scriptPath] = WebSocketPage(
            contentType: "text/javascript; charset=utf-8",
            body: BrowserScript.text(for: self),
            policy: .shared
        )
        return pages
    }
}
