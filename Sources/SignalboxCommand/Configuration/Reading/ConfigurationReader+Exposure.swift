import MQTTPush
import SignalboxCore
import WebSocketChat

/// Warnings about secrets that others can read.
extension ConfigurationReader {
    /// Warns about a login that is sent to the broker unencrypted, even without a password: a user name may be a token.
    func compareLogin(_ section: MQTTSection, _ mapping: YAMLMapping) {
        guard !section.broker.usesTLS, !section.broker.isLocal else { return }
        (mapping.optional("password") ?? mapping.optional("username"))?.warn(
            "it is sent to the broker unencrypted; use mqtts://",
            .credentialsInClear
        )
    }

    /// Warns about tokens that are sent to the server unencrypted. A header whose value is kept elsewhere counts as a secret.
    func compareTokens(_ section: FeedSection, _ mapping: YAMLMapping) {
        guard !section.url.isSecure, !section.url.isLocal else { return }
        let headers = section.headers.contains { !$0.value.isWrittenOut } ? mapping.optional("headers") : nil
        for value in [mapping.optional("bearer"), headers] {
            value?.warn("it is sent to the server unencrypted; use wss://", .credentialsInClear)
        }
    }

    /// Warns about a secret's file that every user of the machine can read. Services share files by group.
    func compareFile(_ path: String, at value: YAMLValue) {
        guard surroundings.isOpenToOthers(path) else { return }
        value.warn("every user of this machine can read \(path); run chmod o-r on it", .readableSecret)
    }
}
