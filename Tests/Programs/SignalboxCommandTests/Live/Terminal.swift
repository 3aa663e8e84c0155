import Foundation

/// A terminal that a test types on and reads: the two ends of a pseudo-terminal.
final class Terminal: Sendable {
    /// What a program has as stdin and stdout.
    let device: FileHandle
    private let screen: FileHandle
    let lines: LineStream

    init() throws {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard master >= 0, let name = Terminal.device(of: master) else { throw CocoaError(.fileNoSuchFile) }
        let slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw CocoaError(.fileNoSuchFile) }
        screen = FileHandle(fileDescriptor: master, closeOnDealloc: true)
        device = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        lines = LineStream(screen)
    }

    /// Types, as a person does: `\u{4}` is Ctrl-D.
    func type(_ text: String) throws {
        try screen.write(contentsOf: Data(text.utf8))
    }

    /// Lets the other end be opened (pts(4)).
    private static func device(of master: Int32) -> String? {
        #if os(Linux)
        // posix_openpt(3) and the calls beside it are not in the headers that Swift imports: TIOCSPTLCK, TIOCGPTN.
        var (locked, number): (Int32, Int32) = (0, 0)
        guard ioctl(master, 0x4004_5431, &locked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else { return nil }
        return "/dev/pts/\(number)"
        #else
        guard grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else { return nil }
        return String(cString: name)
        #endif
    }
}
