import ArgumentParser
import MQTTPush

/// Reads the option `--qos`.
enum QualityOption {
    /// - Returns: at least once, where nothing is said.
    /// - Throws: `ValidationError` for a number that is no quality of service, and for 2, which is neither asked for nor sent.
    static func quality(_ number: Int?) throws(ValidationError) -> MQTTQuality {
        guard let number else { return .atLeastOnce }
        guard let quality = MQTTQuality(rawValue: number) else {
            throw ValidationError("--qos is 0 or 1; QoS 2 cannot promise that nothing is lost")
        }
        return quality
    }
}
