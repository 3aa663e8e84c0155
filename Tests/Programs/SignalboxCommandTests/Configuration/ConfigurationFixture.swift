import WebSocketChat

@testable import SignalboxCommand

/// Reads configurations with the test's own environment and files.
enum ConfigurationFixture {
    static let environment = Environment(
        variable: { ["BROKER": "mqtt://127.0.0.1:1883", "PASSWORD": "canary-4711", "EMPTY": ""][$0] },
        content: { path in
            path == "user.txt" ? .success(Array("kiosk\n".utf8)) : .failure(FileReadError(description: "no such file"))
        },
        presence: { path in
            ["here.js": .readable, "folder": .folder, ".": .folder, "closed.js": .unreadable][path] ?? .nothing
        }
    )

    /// A valid file. A test replaces one line to cause one mistake at a known position.
    static let lines = [
        "sources:",
        "  push:",
        "    mqtt:",
        "      broker: mqtt://127.0.0.1:1883",
        "      client_id: tour",
        "      topics:",
        "        - pattern: push/{device}/{action}",
        "plugins:",
        "  - action: loading",
        "    use: print",
        "    from: [ { source: push } ]",
        "timeout: 3s",
    ]

    static func read(_ text: String, for use: ConfigurationUse = .run) throws(ConfigurationError) -> RunConfiguration {
        try ConfigurationReader.read(text, file: "f.yaml", for: use, environment: environment)
    }

    /// Returns the mistakes in the valid file after one line, counted from 1, is replaced.
    static func problems(line: Int, _ replacement: String) -> [String] {
        var changed = lines
        changed[line - 1] = replacement
        return problems(changed.joined(separator: "\n"))
    }

    /// Checks a configuration.
    ///
    /// - Parameter file: The path of the configuration.
    static func lint(_ text: String, file: String = "f.yaml", readsSecrets: Bool = true) -> ConfigurationFindings {
        ConfigurationReader.lint(text, file: file, readsSecrets: readsSecrets, environment: environment)
    }

    /// Returns the findings of a check, each as severity, code and path.
    static func findings(_ text: String, readsSecrets: Bool = true) -> [String] {
        lint(text, readsSecrets: readsSecrets).findings.map { problem in
            "\(problem.severity.rawValue) \(problem.code.rawValue) \(problem.path)"
        }
    }

    static func problems(_ text: String, for use: ConfigurationUse = .run) -> [String] {
        do throws(ConfigurationError) {
            _ = try read(text, for: use)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}

/// Configurations with one WebSocket source.
enum WebSocketFixture {
    static func feed(_ feed: String, rule: String = "{ source: feed }") -> String {
        """
        sources:
          feed: { feed: \(feed) }
        plugins: [ { action: tick, use: log, from: [ \(rule) ] } ]
        """
    }

    static func chat(_ chat: String, plugin: String = "action: say, use: log, from: [ { source: chat } ]") -> String {
        """
        sources:
          chat: { chat: \(chat) }
        plugins: [ { \(plugin) } ]
        """
    }

    static func feedConfiguration(_ feed: String, rest: String = "") throws -> WebSocketFeedConfiguration {
        let configuration = try ConfigurationFixture.read("\(self.feed(feed))\n\(rest)")
        guard case .feed(let section)? = configuration.sources.first?.kind else {
            throw FileReadError(description: "the source is not a feed")
        }
        return section
    }

    static func chatSource(_ chat: String, rest: String = "") throws -> ChatSource {
        let configuration = try ConfigurationFixture.read("\(self.chat(chat))\n\(rest)")
        guard case .chat(let section)? = configuration.sources.first?.kind else {
            throw FileReadError(description: "the source is not a chat")
        }
        return section
    }

    /// Returns the only rule of the only plugin.
    static func rule(_ configuration: String) throws -> AccessSection? {
        try ConfigurationFixture.read(configuration).plugins.first?.from.first
    }
}
