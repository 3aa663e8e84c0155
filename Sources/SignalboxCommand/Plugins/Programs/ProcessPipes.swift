import AdapterSupport

/// The pipes between this process and another one, which is about to start. The ends of this process are closed with the
/// last reference.
final class ProcessPipes: Sendable {
    /// Where this process writes, without ever blocking.
    let input: Int32
    /// Where this process reads what the other one writes to its stdout and stderr, without ever blocking.
    let output: Int32
    let errors: Int32
    /// The ends of the other process. The code that starts it closes them.
    let childEnds: (input: Int32, output: Int32, errors: Int32)

    /// - Throws: `SystemResourceError` if no descriptor is left.
    init() throws(SystemResourceError) {
        let input = try ProcessPipes.pipe()
        let output: (read: Int32, write: Int32)
        let errors: (read: Int32, write: Int32)
        do throws(SystemResourceError) { output = try ProcessPipes.pipe() } catch {
            ProcessPipes.close(input.read, input.write)
            throw error
        }
        do throws(SystemResourceError) { errors = try ProcessPipes.pipe() } catch {
            ProcessPipes.close(input.read, input.write, output.read, output.write)
            throw error
        }
        (self.input, self.output, self.errors) = (input.write, output.read, errors.read)
        childEnds = (input.read, output.write, errors.write)
        for end in [input.write, output.read, errors.read] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        #if os(Linux)
        // Larger pipes take more messages for each switch between the processes. Without the right to it, they stay small.
        for end in [input.write, output.read] { _ = fcntl(end, ProcessPipes.setPipeSize, 1 << 20) }
        #endif
    }

    deinit { ProcessPipes.close(input, output, errors) }

    /// Closes the ends of a process that was not started.
    func closeChildEnds() { ProcessPipes.close(childEnds.input, childEnds.output, childEnds.errors) }

    #if os(Linux)
    /// `F_SETPIPE_SZ` of fcntl(2), which Swift does not import.
    private static let setPipeSize: Int32 = 1_031
    #endif

    private static func pipe() throws(SystemResourceError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard AdapterSupport.pipe(&ends) == 0 else { throw .descriptor }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func close(_ descriptors: Int32...) {
        for descriptor in descriptors { AdapterSupport.close(descriptor) }
    }
}
