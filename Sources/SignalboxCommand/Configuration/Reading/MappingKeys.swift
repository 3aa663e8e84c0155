/// The keys of one kind of mapping.
///
/// This list is the only one: the reader refuses other keys, and a test compares docs/configuration.schema.json with
/// it.
struct MappingKeys: Sendable, Hashable {
    /// The name of the mapping's definition in docs/configuration.schema.json.
    let name: String
    /// The keys, in the order in which messages list them.
    let keys: [String]
    /// The present names of renamed keys, by their former names. The reader accepts a former name with a warning.
    let renamed: [String: String]

    init(_ name: String, _ keys: [String], renamed: [String: String] = [:]) {
        self.name = name
        self.keys = keys
        self.renamed = renamed
    }

    /// The mappings of a configuration.
    static let all = [
        configuration, limits, deadLetters, source, window, rateLimit, deduplication, mqtt, topic, script, links, route,
        feed, chat, preSharedKey, will, connection, publishing, trust, identity, frames, textFrames, reconnect, waits,
        document, plugin, access, order, retry, circuitBreaker, navigation, navigationHandler, externalBrowser,
        reference,
    ]

    static let configuration = MappingKeys(
        "configuration",
        [
            "sources", "plugins", "limits", "dead_letters", "timeout", "ack_deadline", "drain_limit",
            "log_lines_per_second",
            "navigation",
        ],
        renamed: ["hold_limit": "ack_deadline"]
    )
    static let limits = MappingKeys("limits", ["message_bytes", "depth"])
    static let deadLetters = MappingKeys("deadLetters", ["count", "bytes"])

    static let source = MappingKeys(
        "source",
        SourceKind.keys + ["window", "rate_limit", "deduplication"],
        renamed: ["repeats": "deduplication"]
    )
    static let window = MappingKeys("window", ["arrivals", "bytes"])
    static let rateLimit = MappingKeys("rateLimit", ["per_second", "burst"])
    static let deduplication = MappingKeys("deduplication", ["count", "time", "bytes"])
    static let mqtt = MappingKeys(
        "mqtt",
        [
            "broker", "client_id", "clean_start", "session_expiry", "keepalive", "username", "password", "topics",
            "receive_maximum", "broker_queue", "version", "trust", "identity", "pre_shared_key", "will",
            "announce_connections", "connections", "publishing", "max_deliveries", "deliveries_file",
        ],
        renamed: ["shared_key": "pre_shared_key"]
    )
    static let topic = MappingKeys("topic", ["pattern", "payload", "action", "envelope", "qos", "retained"])
    static let preSharedKey = MappingKeys("preSharedKey", ["identity", "key", "allow_short"])
    static let will = MappingKeys("will", ["topic", "payload", "qos", "retain"])
    static let connection = MappingKeys("connection", ["name", "topics"])
    static let publishing = MappingKeys(
        "publishing",
        [
            "client_id", "queued_messages", "queued_bytes", "reply_topics", "waiting_replies", "send_topic",
            "publish_timeout", "stop_timeout",
        ]
    )
    static let script = MappingKeys(
        "script",
        [
            "files", "title", "execution_time_limit", "heap_limit", "timer_limit", "messages_to_page",
            "messages_without_listener", "process", "memory_limit",
        ]
    )
    static let links = MappingKeys("links", routeFile.keys + ["urls", "file", "standard_input"])
    static let route = MappingKeys("route", ["pattern", "action", "once"])

    static let feed = MappingKeys(
        "feed",
        [
            "url", "subprotocols", "origin", "headers", "bearer", "trust", "identity", "opening_messages", "frames",
            "compression", "answers", "announce_connections", "reconnect", "connect_timeout", "ping_after",
            "pong_within", "waiting_bytes",
        ]
    )
    static let chat = MappingKeys(
        "chat",
        [
            "address", "port", "path", "identity", "origins", "absent_origin", "principals", "query_tokens",
            "subprotocols", "frames", "compression", "answers", "announce_connections", "connections",
            "http_connections", "http_connections_per_address", "http_requests", "http_timeout", "connection_window",
            "handshake_timeout", "message_timeout", "idle_timeout", "ping_after", "silence_limit",
            "waiting_bytes", "all_waiting_bytes", "tags", "tags_per_connection", "pages", "health_path",
        ]
    )
    static let trust = MappingKeys("trust", ["authority"])
    static let identity = MappingKeys("identity", ["certificate", "key"])
    static let frames = MappingKeys("frames", ["text", "binary", "batch"])
    static let textFrames = MappingKeys("textFrames", ["action", "payload"])
    static let reconnect = MappingKeys("reconnect", ["first", "cap", "slow", "holds"])
    static let waits = MappingKeys("waits", ["from", "to"])
    static let document = MappingKeys("document", ["file", "type"])
    static let plugin = MappingKeys(
        "plugin",
        [
            "action", "use", "path", "value", "tag", "source", "topic", "qos", "retain", "retryable", "from", "timeout",
            "order", "max_concurrent", "retry",
            "circuit_breaker",
        ]
    )
    static let access = MappingKeys(
        "access",
        [
            "source", "topic", "qos", "retained", "origin", "main_frame", "principal", "authenticated", "tls", "scheme",
            "host", "any", "all", "not",
        ]
    )
    static let order = MappingKeys("order", ["key"])
    static let retry = MappingKeys("retry", ["attempts", "first_delay", "longest_delay"])
    static let circuitBreaker = MappingKeys("circuitBreaker", ["failures", "open_for"])

    static let navigation = MappingKeys("navigation", ["chain", "fallback", "handler_deadline"])
    static let navigationHandler = MappingKeys(
        "navigationHandler",
        NavigationEntry.Kind.allCases.map(\.rawValue) + ["dangerous", "ports", "decision", "kinds", "name"]
    )
    static let externalBrowser = MappingKeys("externalBrowser", ["own_hosts"])
    static let reference = MappingKeys("reference", ["env", "file"])

    /// The keys of a file that contains only link routes and is not part of a configuration.
    static let routeFile = MappingKeys("routeFile", ["routes", "fallback"])
}
