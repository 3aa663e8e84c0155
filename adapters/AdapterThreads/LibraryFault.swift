package import Logging
import Synchronization

/// The version that a C library reports at run time.
package struct LibraryVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let major, minor, patch: Int

    package init(_ major: Int, _ minor: Int, _ patch: Int) {
        (self.major, self.minor, self.patch) = (major, minor, patch)
    }

    package static func < (left: LibraryVersion, right: LibraryVersion) -> Bool {
        (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
    }

    package var description: String { "\(major).\(minor).\(patch)" }
}

/// A known vulnerability of a C library that can be exploited through Signalbox. docs/security.md lists these, and the
/// vulnerabilities that Signalbox avoids.
package struct LibraryFault: Sendable, Hashable {
    /// The affected versions.
    package let versions: Range<LibraryVersion>
    /// What an attacker can do, and the remedy.
    package let meaning: String

    package init(in versions: Range<LibraryVersion>, _ meaning: String) {
        self.versions = versions
        self.meaning = meaning
    }

    private static let told = Mutex<Set<String>>([])

    /// Warns, once per process, about the vulnerabilities of the given version of a library.
    ///
    /// - Parameter faults: The library's vulnerabilities that affect the program, for all versions.
    package static func warn(
        of faults: [LibraryFault],
        in library: String,
        _ version: LibraryVersion,
        to logger: Logger
    ) {
        guard let text = warning(of: faults, in: library, version) else { return }
        guard told.withLock({ $0.insert(text).inserted }) else { return }
        logger.warning("\(text)")
    }

    /// Returns the text that ``warn(of:in:_:to:)`` logs, or `nil` if the version has none of the faults.
    package static func warning(of faults: [LibraryFault], in library: String, _ version: LibraryVersion) -> String? {
        let found = faults.filter { $0.versions.contains(version) }.map(\.meaning)
        guard !found.isEmpty else { return nil }
        return "\(library) \(version) has known faults, unless the system's package fixes them: "
            + found.joined(separator: "; ") + ". See docs/security.md"
    }
}

/// The known vulnerabilities of OpenSSL, which libmosquitto and libwebsockets also use.
package enum OpenSSLFaults {
    private static let nameCheck =
        "a server's certificate from a trusted authority can end a client that checks its name (CVE-2024-6119)"

    package static let all = [
        LibraryFault(
            in: LibraryVersion(3, 0, 0)..<LibraryVersion(3, 0, 2),
            "a peer's certificate can make the process loop forever (CVE-2022-0778)"
        ),
        LibraryFault(
            in: LibraryVersion(3, 0, 0)..<LibraryVersion(3, 0, 7),
            "a peer's certificate from a trusted authority can end the process (CVE-2022-3602, CVE-2022-3786)"
        ),
        LibraryFault(in: LibraryVersion(3, 0, 0)..<LibraryVersion(3, 0, 15), nameCheck),
        LibraryFault(in: LibraryVersion(3, 1, 0)..<LibraryVersion(3, 1, 7), nameCheck),
        LibraryFault(in: LibraryVersion(3, 2, 0)..<LibraryVersion(3, 2, 3), nameCheck),
        LibraryFault(in: LibraryVersion(3, 3, 0)..<LibraryVersion(3, 3, 2), nameCheck),
    ]

    /// Decodes the result of `OpenSSL_version_num`, `0xMNN00PP0`.
    package static func version(_ number: UInt) -> LibraryVersion {
        LibraryVersion(Int(number >> 28 & 0xF), Int(number >> 20 & 0xFF), Int(number >> 4 & 0xFF))
    }
}
