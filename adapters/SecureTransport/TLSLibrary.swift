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
}
