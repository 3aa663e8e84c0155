import COpenSSL

/// The loaded OpenSSL.
package enum TLSLibrary {
    /// The version as OpenSSL encodes it (OpenSSL_version_num(3)).
    package static var versionNumber: UInt { UInt(OpenSSL_version_num()) }
}
