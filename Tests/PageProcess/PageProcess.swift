import JSBridge

/// The smallest program in whose processes pages may run.
@main
struct PageProcess {
    static func main() async {
        await ScriptWorker.serve()
    }
}
