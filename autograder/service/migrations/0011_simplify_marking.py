import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_practice(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Delete marks given for practice; without their flag they would count as second opinions."""
    apps.get_model("service", "IndependentMark").objects.filter(calibration=True).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('service', '0010_chosen_attempts'),
    ]

    operations = [
        migrations.DeleteModel(
            name='Wording',
        ),
        migrations.RunPython(delete_practice, migrations.RunPython.noop),
        migrations.RemoveConstraint(
            model_name='independentmark',
            name='independent_mark',
        ),
        migrations.RemoveField(
            model_name='independentmark',
            name='calibration',
        ),
        migrations.AddConstraint(
            model_name='independentmark',
            constraint=models.UniqueConstraint(fields=('mark', 'account'), name='independent_mark'),
        ),
        migrations.RemoveField(
            model_name='markingplan',
            name='calibration',
        ),
        migrations.RenameModel(old_name='DraftVersion', new_name='VersionTrial'),
        migrations.RenameModel(old_name='DraftResult', new_name='TrialResult'),
        migrations.RemoveConstraint(
            model_name='trialresult',
            name='draft_result',
        ),
        migrations.RenameField(model_name='trialresult', old_name='draft', new_name='trial'),
        migrations.AddConstraint(
            model_name='trialresult',
            constraint=models.UniqueConstraint(fields=('trial', 'attempt'), name='trial_result'),
        ),
        migrations.RemoveField(
            model_name='versiontrial',
            name='subject',
        ),
        migrations.AlterField(
            model_name='versiontrial',
            name='by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='versiontrial',
            name='offer',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='trials', to='service.offer'),
        ),
    ]
