import CMosquitto

/// A return code of libmosquitto, 0 for success.
struct MosquittoCode: Equatable {
    let rawValue: Int32

    static let success = MosquittoCode(rawValue: MOSQ_ERR_SUCCESS.rawValue)
    static let tlsFailed = MosquittoCode(rawValue: MOSQ_ERR_TLS.rawValue)
    static let connectionLost = MosquittoCode(rawValue: MOSQ_ERR_CONN_LOST.rawValue)

    var isSuccess: Bool { self == .success }

    /// What the code means; for a system error, what `errno` says now, so ask at once.
    var text: String {
        let sentence = String(cString: mosquitto_strerror(rawValue))
        let end = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return end.prefix(1).lowercased() + end.dropFirst()
    }
}
