import CProgramStart
import SignalboxCommand

@main struct SignalboxProgram {
    static func main() async {
        await SignalboxEntry.main(commit: String(cString: cstart_commit()))
    }
}
