import AdapterSupport
import COpenSSL

/// The loaded OpenSSL.
package enum TLSLibrary {
    /// The version as OpenSSL encodes it (OpenSSL_version_num(3)).
    package static var versionNumber: UInt { UInt(OpenSSL_version_num()) }

    /// Frees what OpenSSL keeps for the calling thread. Call this at the end of a thread.
    ///
    /// Otherwise, OpenSSL would free it when the thread exits. By then, the process may be exiting and OpenSSL shutting down
    /// (OPENSSL_init_crypto(3)).
    package static func endThread() {
        OPENSSL_thread_stop()
    }

    /// Makes a write to a closed connection an error, unless the program handles the signal itself. Call this before the first
    /// connection; only the first call has an effect.
    package static func ignoreBrokenPipes() { _ = ignoresBrokenPipes }

    /// A write to a closed connection must be an error instead of ending the process. OpenSSL writes with write(2), which
    /// cannot be told so for a single call.
    private static let ignoresBrokenPipes: Void = {
        var action = sigaction()
        guard sigaction(SIGPIPE, nil, &action) == 0 else { return }
        #if canImport(Darwin)
        let isDefault = action.__sigaction_u.__sa_handler == nil
        #elseif canImport(Musl)
        let isDefault = action.__sa_handler.sa_handler == nil
        #else
        let isDefault = action.__sigaction_handler.sa_handler == nil
        #endif
        // A handler of the program stays, as it has the same effect.
        if isDefault { signal(SIGPIPE, SIG_IGN) }
    }()
}
