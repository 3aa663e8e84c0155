/// One row of the crash matrix: what a process that dies was doing.
struct CrashRow: Hashable, Sendable, CustomStringConvertible {
    enum Transport: String, CaseIterable, Sendable { case plain, tls = "TLS" }

    enum Point: String, CaseIterable, Sendable {
        case insidePlugin = "inside the plugin"
        case betweenBatchAndFlush = "between batch and flush"
        case duringReconnect = "during reconnect"
    }

    enum Session: String, CaseIterable, Sendable { case kept, lost }

    var quality: Int
    var version: String
    var transport: Transport
    var point: Point
    var session: Session

    static let all: [CrashRow] = {
        var rows: [CrashRow] = []
        for quality in [1, 0] {
            for session in Session.allCases {
                for point in Point.allCases {
                    for version in ["5", "3.1.1"] {
                        for transport in Transport.allCases {
                            rows.append(
                                CrashRow(
                                    quality: quality,
                                    version: version,
                                    transport: transport,
                                    point: point,
                                    session: session
                                )
                            )
                        }
                    }
                }
            }
        }
        return rows
    }()

    /// Whether every message that the broker acknowledged must reach the plugin.
    var promisesEverything: Bool { quality == 1 && session == .kept }

    var description: String {
        "QoS \(quality), session \(session), \(point.rawValue), MQTT \(version), \(transport.rawValue)"
    }

    /// The columns that say what was done.
    var cells: [String] { ["\(quality)", session.rawValue, point.rawValue, version, transport.rawValue] }
}
