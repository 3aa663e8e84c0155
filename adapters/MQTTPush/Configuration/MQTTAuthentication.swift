public import SignalboxCore

/// The client's side of one enhanced authentication, such as an exchange of SCRAM messages (MQTT 5.0, 4.12).
///
/// A program implements this protocol for a broker that does not authenticate clients by user name, password or
/// certificate only. Each attempt to connect has its own value, whose methods the connection's thread calls in this order:
/// ``begin()``, then ``answer(_:)`` for each challenge, and ``succeed(_:)`` once the broker has accepted the client. They
/// may block. The time that they take counts towards the time that the attempt to connect may take, except that of
/// ``begin()``. A call in progress is not interrupted.
///
/// An error that a method throws ends the attempt. Its description is logged, escaped and cut to 256 bytes, so it must not
/// contain secrets.
public protocol MQTTAuthentication {
    /// The name of the method, such as `SCRAM-SHA-256`, which must not change. It can have at most 65,535 bytes.
    var method: String { get }

    /// Returns the data for CONNECT, at most 65,535 bytes, or `nil` for none.
    mutating func begin() throws -> Bytes?

    /// Returns the data that answers a challenge of the broker, at most 65,535 bytes, or `nil` for none.
    ///
    /// - Parameter challenge: The broker's data, which is empty if it has sent none.
    mutating func answer(_ challenge: Bytes) throws -> Bytes?

    /// Checks what the broker sent when it accepted the client. If the method authenticates the broker, too, throw an error
    /// for data that is missing or wrong. The connection then ends without a DISCONNECT, so that the broker publishes the
    /// will if there is one.
    ///
    /// - Parameter data: The broker's data, or `nil` if it has sent none.
    mutating func succeed(_ data: Bytes?) throws
}

/// Begins an enhanced authentication for each attempt to connect.
public struct MQTTAuthenticator: Sendable, Hashable {
    private final class Maker: Sendable {
        let make: @Sendable () throws -> any MQTTAuthentication

        init(_ make: @escaping @Sendable () throws -> any MQTTAuthentication) {
            self.make = make
        }
    }

    private let maker: Maker

    /// Creates an authenticator. It is equal to its copies only.
    ///
    /// - Parameter make: Called on the connection's thread for each attempt to connect. It may block, for example to read a
    ///   secret. An error that it throws ends the attempt, and its description is logged.
    public init(_ make: @escaping @Sendable () throws -> any MQTTAuthentication) {
        maker = Maker(make)
    }

    /// Whether both are copies of the same authenticator.
    public static func == (one: MQTTAuthenticator, other: MQTTAuthenticator) -> Bool { one.maker === other.maker }

    /// Hashes the identity of the authenticator.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(maker))
    }

    func begin() throws(MQTTPushError) -> AuthenticationExchange {
        do {
            return try AuthenticationExchange(maker.make())
        } catch {
            throw MQTTPushError(
                .authenticationFailed,
                "the enhanced authentication cannot begin: \(LineText.escaped("\(error)", limit: 256))"
            )
        }
    }
}

/// The enhanced authentication of one connection, in the types of packets.
struct AuthenticationExchange {
    let method: String
    /// The data for CONNECT.
    private(set) var first: [UInt8]?
    private var authentication: any MQTTAuthentication

    init(_ authentication: any MQTTAuthentication) throws {
        self.authentication = authentication
        method = authentication.method
        first = try self.authentication.begin().map { Array($0) }
    }

    /// Returns the data for the next AUTH.
    mutating func answer(_ challenge: [UInt8]) throws(MQTTPushError) -> [UInt8]? {
        do {
            return try authentication.answer(Bytes(challenge)).map { Array($0) }
        } catch {
            throw failed(error)
        }
    }

    /// Checks the data of CONNACK.
    mutating func succeed(_ data: [UInt8]?) throws(MQTTPushError) {
        do {
            try authentication.succeed(data.map { Bytes($0) })
        } catch {
            throw failed(error)
        }
    }

    private func failed(_ error: any Error) -> MQTTPushError {
        let name = LineText.escaped(method, limit: 256)
        let reason = LineText.escaped("\(error)", limit: 256)
        return MQTTPushError(.authenticationFailed, "the enhanced authentication \"\(name)\" failed: \(reason)")
    }
}
